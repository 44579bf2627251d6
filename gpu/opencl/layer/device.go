package layer

import (
	"errors"
	"fmt"
	"sync"

	"github.com/kernstash/kernstash/gpu/opencl"
	"github.com/kernstash/kernstash/internal/inprocess"
)

// drivers are the drivers and root devices that were seen.
type drivers struct {
	mu      sync.Mutex
	known   map[[3]uintptr]*opencl.Platform
	devices map[uintptr]*opencl.Device // by cl_device_id
}

// maxKnown bounds what is remembered: nobody has so many drivers, or devices.
const maxKnown = 4096

// errUnknown is returned for drivers that the layer leaves alone.
var errUnknown = errors.New("a driver that kernstash does not know")

// find returns the root device that a device of a driver is a part of. environ is that of a
// Request.
func (d *drivers) find(e opencl.DriverEntries, environ func() []string, handle uintptr) (*opencl.Device, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if known := d.devices[handle]; known != nil {
		return known, nil
	}
	platform, err := d.platform(e, environ)
	if err != nil {
		return nil, err
	}
	if !platform.IsKnown() {
		return nil, errUnknown // it gets no call that the application did not make
	}
	// A part is not remembered: when it is released another may get its handle.
	root, err := platform.Root(handle)
	if err != nil {
		return nil, err
	}
	if known := d.devices[root]; known != nil {
		return known, nil
	}
	if len(d.devices) >= maxKnown {
		return nil, fmt.Errorf("more than %d devices", maxKnown)
	}
	own := platform.Device(root)
	d.devices[root] = own
	return own, nil
}

func (d *drivers) platform(e opencl.DriverEntries, environ func() []string) (*opencl.Platform, error) {
	id := [3]uintptr{e.Platform, e.GetPlatformInfo, e.GetDeviceInfo}
	if known := d.known[id]; known != nil {
		return known, nil
	}
	if len(d.known) >= maxKnown {
		return nil, fmt.Errorf("more than %d drivers", maxKnown)
	}
	if environ == nil {
		environ = inprocess.StartEnvironment
	}
	e.Environ = environ()
	platform, err := opencl.PlatformOf(e)
	if err != nil {
		return nil, err
	}
	d.known[id] = platform
	return platform, nil
}
