package cuda

import (
	"errors"
	"fmt"
	"strconv"

	"github.com/kernstash/kernstash/gpu/cuda/internal/cu"
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

// Device is a GPU. What it says of itself was asked once, when it was listed. It
// is never released.
type Device struct {
	Name       string
	UUID       string // "GPU-8d2c…", as nvidia-smi has it; "" where the driver does not tell
	PCI        string // "0000:3b:00.0"; "" where the driver does not tell
	Capability Capability
	Limits     Limits

	id cu.Device
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
	ids, err := cu.Devices()
	if err == nil && len(ids) == 0 {
		err = fmt.Errorf("%w: %w", ErrNoDriver, NoDevice)
	}
	if err != nil {
		return nil, fmt.Errorf("list devices: %w", err)
	}
	devices := make([]*Device, len(ids))
	for i, id := range ids {
		if devices[i], err = newDevice(id); err != nil {
			return nil, fmt.Errorf("list devices: device %d: %w", i, err)
		}
	}
	return devices, nil
}

// newDevice asks what a device is. Its capability must be known; what else the
// driver does not tell is left empty.
func newDevice(id cu.Device) (*Device, error) {
	d := &Device{id: id}
	major, err := cu.DeviceGetAttribute(cu.ComputeCapabilityMajor, id)
	minor, err2 := cu.DeviceGetAttribute(cu.ComputeCapabilityMinor, id)
	if err = errors.Join(err, err2); err != nil {
		return nil, err
	}
	d.Capability = Capability{major, minor}
	if d.Name, err = cu.DeviceGetName(id); err != nil {
		return nil, err
	}
	if u, err := cu.DeviceGetUUID(id); err == nil {
		d.UUID = fmt.Sprintf("GPU-%x-%x-%x-%x-%x", u[:4], u[4:6], u[6:8], u[8:10], u[10:])
	}
	d.PCI, _ = cu.DeviceGetPCIBusID(id)
	d.Limits.Memory, _ = cu.DeviceTotalMem(id)
	for to, a := range map[*int]cu.Attribute{
		&d.Limits.Multiprocessors: cu.MultiprocessorCount, &d.Limits.WarpSize: cu.WarpSize,
		&d.Limits.BlockThreads: cu.MaxThreadsPerBlock,
		&d.Limits.Block[0]:     cu.MaxBlockDimX, &d.Limits.Block[1]: cu.MaxBlockDimY, &d.Limits.Block[2]: cu.MaxBlockDimZ,
		&d.Limits.Grid[0]: cu.MaxGridDimX, &d.Limits.Grid[1]: cu.MaxGridDimY, &d.Limits.Grid[2]: cu.MaxGridDimZ,
		&d.Limits.SharedMemory: cu.MaxSharedMemoryPerBlock, &d.Limits.SharedMemoryMax: cu.MaxSharedMemoryOptIn,
		&d.Limits.Registers: cu.MaxRegistersPerBlock, &d.Limits.ClockKilohertz: cu.ClockRate,
	} {
		*to, _ = cu.DeviceGetAttribute(a, id)
	}
	return d, nil
}

// Ordinal returns the driver's number of the device in this process.
func (d *Device) Ordinal() int { return int(d.id) }
