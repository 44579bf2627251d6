package main

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

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
		return nil, errors.New("OpenCL is here but has no device; install a driver, " +
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
	titles := make([]string, len(devices))
	for i, d := range devices {
		titles[i] = deviceTitle(d)
	}
	i, err := chooseDevice(titles, choice)
	if err != nil {
		return nil, err
	}
	return devices[i], nil
}

// chooseDevice returns the index of the title that a choice means: its number,
// or the one title that contains it, upper and lower case being the same.
func chooseDevice(titles []string, choice string) (int, error) {
	if choice == "" {
		return 0, nil
	}
	if n, err := strconv.Atoi(choice); err == nil {
		if n >= 0 && n < len(titles) {
			return n, nil
		}
		return 0, usagef("--device %s: there is no such number; %s", choice, listed(titles))
	}
	var found []int
	for i, t := range titles {
		if strings.Contains(strings.ToLower(t), strings.ToLower(choice)) {
			found = append(found, i)
		}
	}
	switch len(found) {
	case 0:
		return 0, usagef("--device %s: none is called so; %s", choice, listed(titles))
	case 1:
		return found[0], nil
	}
	return 0, usagef("--device %s: more than one is called so; %s", choice, listed(titles))
}

func listed(titles []string) string {
	var b strings.Builder
	b.WriteString("here are:")
	for i, t := range titles {
		fmt.Fprintf(&b, "\n  %d  %s", i, printable(t, false))
	}
	return b.String()
}
