package cuda

import (
	"errors"
	"fmt"
	"strconv"
	"unsafe"

	"github.com/kernstash/kernstash/internal/dl"
)

// Capability is a compute capability.
type Capability struct{ Major, Minor int }

// String returns "9.0".
func (c Capability) String() string { return fmt.Sprintf("%d.%d", c.Major, c.Minor) }

// Arch returns the real architecture: "sm_90".
func (c Capability) Arch() string { return "sm_" + c.digits() }

// VirtualArch returns the virtual architecture: "compute_90".
func (c Capability) VirtualArch() string { return "compute_" + c.digits() }

func (c Capability) digits() string { return strconv.Itoa(10*c.Major + c.Minor) }

// Device is a GPU. What it says of itself was asked once, when it was listed. It is never released.
type Device struct {
	Name       string
	UUID       string // "GPU-8d2c…", as nvidia-smi has it; "" where the driver does not tell
	PCI        string // "0000:3b:00.0"; "" where the driver does not tell
	Capability Capability
	Limits     Limits

	id int32 // CUdevice, an ordinal
}

// Limits are what a device can hold; sizes are bytes.
type Limits struct {
	Multiprocessors int
	WarpSize        int
	BlockThreads    int    // threads in a block
	Block           [3]int // threads in a block, per dimension
	Grid            [3]int // blocks in a grid, per dimension
	SharedMemory    int    // of a block, without asking for more
	SharedMemoryMax int    // of a block, for a kernel that asks for it
	Registers       int    // of a block
	Memory          uint64
	ClockKilohertz  int
}

// Devices lists the GPUs that the process may use, in the driver's order. Where
// there are none, or no driver, the error wraps ErrNoDriver and says what to do.
func Devices() ([]*Device, error) {
	if err := start(); err != nil {
		return nil, fmt.Errorf("list devices: %w", err)
	}
	var n int32
	err := call("cuDeviceGetCount", uintptr(unsafe.Pointer(&n)))
	if err == nil && n == 0 {
		err = fmt.Errorf("%w: %w", ErrNoDriver, NoDevice)
	}
	if err != nil {
		return nil, fmt.Errorf("list devices: %w", err)
	}
	devices := make([]*Device, n)
	for i := range devices {
		var id int32
		if err = call("cuDeviceGet", uintptr(unsafe.Pointer(&id)), uintptr(i)); err == nil {
			devices[i], err = newDevice(id)
		}
		if err != nil {
			return nil, fmt.Errorf("list devices: device %d: %w", i, err)
		}
	}
	return devices, nil
}

// newDevice asks what a device is. Its capability must be known; what else the
// driver does not tell is left empty.
func newDevice(id int32) (*Device, error) {
	d := &Device{id: id}
	err := errors.Join(d.ask(&d.Capability.Major, capabilityMajor), d.ask(&d.Capability.Minor, capabilityMinor))
	if err != nil {
		return nil, err
	}
	b := make([]byte, 256)
	if err := call("cuDeviceGetName", uintptr(dl.Addr(b)), uintptr(len(b)), uintptr(id)); err != nil {
		return nil, err
	}
	d.Name = dl.Text(b)
	u := make([]byte, 16)
	if err := call("cuDeviceGetUuid", uintptr(dl.Addr(u)), uintptr(id)); err == nil {
		d.UUID = fmt.Sprintf("GPU-%x-%x-%x-%x-%x", u[:4], u[4:6], u[6:8], u[8:10], u[10:])
	}
	if err := call("cuDeviceGetPCIBusId", uintptr(dl.Addr(b)), uintptr(len(b)), uintptr(id)); err == nil {
		d.PCI = dl.Text(b)
	}
	_ = call("cuDeviceTotalMem_v2", uintptr(unsafe.Pointer(&d.Limits.Memory)), uintptr(id))
	for to, a := range map[*int]deviceAttribute{
		&d.Limits.Multiprocessors: multiprocessorCount, &d.Limits.WarpSize: warpSize,
		&d.Limits.BlockThreads: maxThreadsPerBlock,
		&d.Limits.Block[0]:     maxBlockDimX, &d.Limits.Block[1]: maxBlockDimY, &d.Limits.Block[2]: maxBlockDimZ,
		&d.Limits.Grid[0]: maxGridDimX, &d.Limits.Grid[1]: maxGridDimY, &d.Limits.Grid[2]: maxGridDimZ,
		&d.Limits.SharedMemory: maxSharedMemoryPerBlock, &d.Limits.SharedMemoryMax: maxSharedMemoryOptIn,
		&d.Limits.Registers: maxRegistersPerBlock, &d.Limits.ClockKilohertz: clockRate,
	} {
		_ = d.ask(to, a)
	}
	return d, nil
}

// deviceAttribute is a CUdevice_attribute.
type deviceAttribute int32

const (
	maxThreadsPerBlock      deviceAttribute = 1
	maxBlockDimX            deviceAttribute = 2
	maxBlockDimY            deviceAttribute = 3
	maxBlockDimZ            deviceAttribute = 4
	maxGridDimX             deviceAttribute = 5
	maxGridDimY             deviceAttribute = 6
	maxGridDimZ             deviceAttribute = 7
	maxSharedMemoryPerBlock deviceAttribute = 8
	warpSize                deviceAttribute = 10
	maxRegistersPerBlock    deviceAttribute = 12
	clockRate               deviceAttribute = 13 // kilohertz
	multiprocessorCount     deviceAttribute = 16
	capabilityMajor         deviceAttribute = 75
	capabilityMinor         deviceAttribute = 76
	maxSharedMemoryOptIn    deviceAttribute = 97
)

// ask asks for a number that says what the device is.
func (d *Device) ask(to *int, a deviceAttribute) error {
	var v int32
	err := call("cuDeviceGetAttribute", uintptr(unsafe.Pointer(&v)), uintptr(a), uintptr(d.id))
	*to = int(v)
	return err
}

// Ordinal returns the driver's number of the device in this process.
func (d *Device) Ordinal() int { return int(d.id) }
