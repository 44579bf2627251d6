package cu

import (
	"errors"
	"fmt"
	"sync"
	"unsafe"
)

// Device is a CUdevice, an ordinal.
type Device int32

var (
	cuInit               = entry{name: "cuInit"}
	cuDriverGetVersion   = entry{name: "cuDriverGetVersion"}
	cuDeviceGetCount     = entry{name: "cuDeviceGetCount"}
	cuDeviceGet          = entry{name: "cuDeviceGet"}
	cuDeviceGetName      = entry{name: "cuDeviceGetName"}
	cuDeviceGetUuid      = entry{name: "cuDeviceGetUuid"}
	cuDeviceGetAttribute = entry{name: "cuDeviceGetAttribute"}
	cuDeviceTotalMem     = entry{name: "cuDeviceTotalMem_v2"}
	cuDeviceGetPCIBusId  = entry{name: "cuDeviceGetPCIBusId"}
)

// hints say what to do about what cuInit returned.
var hints = map[Code]string{
	NoDevice:                   "no GPU is visible: look at nvidia-smi, at CUDA_VISIBLE_DEVICES, and whether the container was given its GPUs",
	StubLibrary:                "this libcuda.so.1 is the toolkit's stub: take its directory out of LD_LIBRARY_PATH, and install NVIDIA's driver",
	SystemDriverMismatch:       "the driver's kernel module is of another version than libcuda.so.1: reboot, or load the module anew",
	CompatNotSupportedOnDevice: "this GPU does not take the forward compatibility libraries: take their directory out of LD_LIBRARY_PATH",
	SystemNotReady:             "the machine is not ready: is the fabric manager running?",
	Unknown:                    "the driver's kernel module does not answer: is it loaded, and are there /dev/nvidia* files?",
	OperatingSystem:            "the operating system refused: are the /dev/nvidia* files accessible?",
	DeviceNotLicensed:          "the GPU has no licence",
}

// Init initialises the driver, once. Its error stays.
var Init = sync.OnceValue(func() error {
	err := cuInit.call(0)
	if err == nil {
		return nil
	}
	var failed *Error
	if errors.As(err, &failed) {
		err = fmt.Errorf("%w: %w", ErrNoDriver, err)
		if hint := hints[failed.Code]; hint != "" {
			err = fmt.Errorf("%w; %s", err, hint)
		}
	}
	return fmt.Errorf("initialise CUDA: %w", err)
})

// DriverGetVersion returns the version of CUDA that the driver is for: 13000 is
// 13.0.
func DriverGetVersion() (int, error) {
	v := new(int32)
	err := cuDriverGetVersion.call(uintptr(unsafe.Pointer(v)))
	return int(*v), err
}

// Devices returns all devices.
func Devices() ([]Device, error) {
	n := new(int32)
	if err := cuDeviceGetCount.call(uintptr(unsafe.Pointer(n))); err != nil {
		return nil, err
	}
	devices := make([]Device, *n)
	for i := range devices {
		if err := cuDeviceGet.call(uintptr(unsafe.Pointer(&devices[i])), uintptr(i)); err != nil {
			return nil, err
		}
	}
	return devices, nil
}

// DeviceGetName returns a device's name.
func DeviceGetName(d Device) (string, error) {
	b := make([]byte, 256)
	err := cuDeviceGetName.call(uintptr(addr(b)), uintptr(len(b)), uintptr(d))
	return text(b), err
}

// DeviceGetUUID returns what tells this piece of hardware from all others.
func DeviceGetUUID(d Device) (uuid [16]byte, err error) {
	b := make([]byte, len(uuid))
	err = cuDeviceGetUuid.call(uintptr(addr(b)), uintptr(d))
	return [16]byte(b), err
}

// DeviceGetPCIBusID returns where a device is, as "0000:3b:00.0".
func DeviceGetPCIBusID(d Device) (string, error) {
	b := make([]byte, 64)
	err := cuDeviceGetPCIBusId.call(uintptr(addr(b)), uintptr(len(b)), uintptr(d))
	return text(b), err
}

// DeviceTotalMem returns the bytes of a device's memory.
func DeviceTotalMem(d Device) (uint64, error) {
	n := new(uint64)
	err := cuDeviceTotalMem.call(uintptr(unsafe.Pointer(n)), uintptr(d))
	return *n, err
}

// Attribute is a CUdevice_attribute.
type Attribute int32

// Attributes of devices.
const (
	MaxThreadsPerBlock          Attribute = 1
	MaxBlockDimX                Attribute = 2
	MaxBlockDimY                Attribute = 3
	MaxBlockDimZ                Attribute = 4
	MaxGridDimX                 Attribute = 5
	MaxGridDimY                 Attribute = 6
	MaxGridDimZ                 Attribute = 7
	MaxSharedMemoryPerBlock     Attribute = 8
	WarpSize                    Attribute = 10
	MaxRegistersPerBlock        Attribute = 12
	ClockRate                   Attribute = 13 // kilohertz
	MultiprocessorCount         Attribute = 16
	ComputeCapabilityMajor      Attribute = 75
	ComputeCapabilityMinor      Attribute = 76
	MaxSharedMemoryOptIn        Attribute = 97
	MaxThreadsPerMultiprocessor Attribute = 39
)

// DeviceGetAttribute returns a number that says what a device is.
func DeviceGetAttribute(a Attribute, d Device) (int, error) {
	v := new(int32)
	err := cuDeviceGetAttribute.call(uintptr(unsafe.Pointer(v)), uintptr(a), uintptr(d))
	return int(*v), err
}
