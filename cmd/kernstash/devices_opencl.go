package main

import (
	"errors"
	"fmt"

	"github.com/kernstash/kernstash/gpu/opencl"
)

// allDevices returns every device of every runtime. None is an error that says
// what to do.
func allDevices() ([]*opencl.Device, error) {
	if !hasRuntimes {
		return nil, errNoRuntimes
	}
	devices, err := opencl.Devices(opencl.AnyType)
	if err != nil {
		return nil, fmt.Errorf("no OpenCL here: %w; install a loader and a driver, "+
			"on Debian or Ubuntu: apt-get install ocl-icd-libopencl1 pocl-opencl-icd", err)
	}
	if len(devices) == 0 {
		return nil, errors.New("OpenCL is here but has no device (PoCL has none where it cannot write its cache, POCL_CACHE_DIR); install a driver, " +
			"on Debian or Ubuntu: apt-get install pocl-opencl-icd")
	}
	return devices, nil
}

// deviceTitle is what --device is compared with.
func deviceTitle(d *opencl.Device) string { return d.Platform().Name + "/" + d.Name }

// openDevice returns the device that --device names, the first one if it names
// none.
func openDevice(choice string) (*opencl.Device, error) {
	devices, err := allDevices()
	if err != nil {
		return nil, err
	}
	return pickDevice(devices, deviceTitle, choice)
}
