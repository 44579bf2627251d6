package opencl

import (
	"fmt"
	"os"
	"strings"
	"sync"

	"github.com/kernstash/kernstash/gpu/opencl/internal/cl"
	"github.com/kernstash/kernstash/internal/dl"
	"github.com/kernstash/kernstash/internal/drivers"
	"github.com/kernstash/kernstash/key"
)

// Platform is an OpenCL implementation. It lives as long as the process.
type Platform struct {
	Name, Vendor, Version string
	Suffix                string   // CL_PLATFORM_ICD_SUFFIX_KHR: "POCL", "INTEL", "NV", "AMD"; empty where there is none
	Extensions            []string // in the driver's order

	id  cl.PlatformID
	ask *cl.Queries
	env drivers.Environments

	variablesAtLoad func() []key.Pair // those of env.Loaded that the compiler obeys
}

// Platforms returns the platforms that the OpenCL loader finds; none is not an error. It loads
// every driver that is installed, which takes tens of milliseconds the first time.
func Platforms() ([]*Platform, error) {
	environAtLoad()
	drivers.IntelSettings.Loads()
	ids, err := cl.GetPlatformIDs()
	if err != nil {
		return nil, fmt.Errorf("list platforms: %w", err)
	}
	platforms := make([]*Platform, len(ids))
	for i, id := range ids {
		platforms[i] = loaded(id)
	}
	return platforms, nil
}

// loaded returns a platform that the loader knows.
func loaded(id cl.PlatformID) *Platform {
	return newPlatform(id, cl.Loader, drivers.Environments{Loaded: environAtLoad(), Now: os.Environ})
}

func newPlatform(id cl.PlatformID, ask *cl.Queries, env drivers.Environments) *Platform {
	get := func(param uint32) string { return cl.Text(ask.Platform(id, param)) }
	p := &Platform{
		Name: get(cl.PlatformName), Vendor: get(cl.PlatformVendor), Version: get(cl.PlatformVersion),
		Suffix: get(cl.PlatformICDSuffixKHR), Extensions: strings.Fields(get(cl.PlatformExtensions)),
		id: id, ask: ask, env: env,
	}
	p.variablesAtLoad = sync.OnceValue(func() []key.Pair { return p.rules().Of(env.Loaded) })
	return p
}

// Handle returns the cl_platform_id.
func (p *Platform) Handle() uintptr { return uintptr(p.id) }

// Devices returns the platform's root devices of a type; none is not an error.
func (p *Platform) Devices(t DeviceType) ([]*Device, error) {
	ids, err := cl.GetDeviceIDs(p.id, uint64(t))
	if err != nil {
		return nil, fmt.Errorf("list devices of %s: %w", p.Name, err)
	}
	devices := make([]*Device, len(ids))
	for i, id := range ids {
		devices[i] = newDevice(id, p)
	}
	return devices, nil
}

// Devices returns the root devices of a type on all platforms, in the loader's
// order; none is not an error.
func Devices(t DeviceType) ([]*Device, error) {
	platforms, err := Platforms()
	if err != nil {
		return nil, err
	}
	var all []*Device
	for _, p := range platforms {
		devices, err := p.Devices(t)
		if err != nil {
			return nil, err
		}
		all = append(all, devices...)
	}
	return all, nil
}

// DriverEntries are what is known from outside of a driver that the process has loaded without
// this package: one that an application uses, while the caller stands between the two.
type DriverEntries struct {
	// Platform is its cl_platform_id.
	Platform uintptr

	// GetPlatformInfo and GetDeviceInfo are the addresses of the functions of
	// these names in the driver itself, beneath any loader and any layer.
	GetPlatformInfo, GetDeviceInfo uintptr

	// Environ is the environment, as os.Environ has it, that the driver found when it was loaded.
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

// Root returns the root device that the device of a handle is a part of: itself, if it is no part.
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
