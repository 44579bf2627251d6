package opencl

import (
	"fmt"

	"github.com/kernstash/kernstash/gpu/opencl/internal/cl"
	"github.com/kernstash/kernstash/internal/dl"
	"github.com/kernstash/kernstash/internal/drivers"
)

// DriverEntries are what is known from outside of a driver that the process has loaded without
// this package: one that an application uses, while the caller stands between the two.
type DriverEntries struct {
	// Platform is its cl_platform_id.
	Platform uintptr

	// GetPlatformInfo and GetDeviceInfo are the addresses of the functions of
	// these names in the driver itself, beneath any loader and any layer.
	GetPlatformInfo, GetDeviceInfo uintptr

	// Environ is the environment, as os.Environ has it, that the driver found
	// when it was loaded.
	Environ []string
}

// PlatformOf asks a driver what its platform is, and what its Device and Root return; everything
// else of them goes through the loader.
func PlatformOf(e DriverEntries) (*Platform, error) {
	if e.Platform == 0 || e.GetPlatformInfo == 0 || e.GetDeviceInfo == 0 {
		return nil, fmt.Errorf("driver: %w: a NULL among its entry points", ErrArgument)
	}
	env := drivers.Environments{Loaded: e.Environ, Now: dl.Environ} // C code may set variables
	return newPlatform(cl.PlatformID(e.Platform), cl.Driver(e.GetPlatformInfo, e.GetDeviceInfo), env), nil
}

// maxDivisions is how often a device can have been divided.
const maxDivisions = 16

// Root returns the root device that the device of a handle is a part of: itself,
// if it is no part.
func (p *Platform) Root(device uintptr) (uintptr, error) {
	for range maxDivisions {
		// Drivers of OpenCL 1.1 know neither the parameter nor parts.
		parent, _ := cl.Number(p.ask.Device(cl.DeviceID(device), cl.DeviceParentDevice))
		if parent == 0 {
			return device, nil
		}
		device = uintptr(parent)
	}
	return 0, fmt.Errorf("root of a device: %w: it has no end of parents", ErrArgument)
}

// Device asks what the root device of a handle is. Of its limits only the bits of an
// address are asked for.
func (p *Platform) Device(root uintptr) *Device { return newNamed(cl.DeviceID(root), p) }
