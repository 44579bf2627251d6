//go:build !nogpu

package main

import (
	"errors"
	"fmt"

	"github.com/kernstash/kernstash/gpu/levelzero"
)

const levelzeroAdvice = "install a loader and a driver, on Debian or Ubuntu: apt-get install libze1 intel-opencl-icd " +
	"(from release 23 on: libze-intel-gpu1), and check the permissions of /dev/dri"

// levelzeroDevices returns every device of every driver. None is an error that says
// what to do.
func levelzeroDevices() ([]*levelzero.Device, error) {
	devices, err := levelzero.Devices()
	if err == nil && len(devices) == 0 {
		err = errors.New("the drivers list no device")
	}
	if err != nil {
		return nil, fmt.Errorf("no Level Zero device: %w; %s", err, levelzeroAdvice)
	}
	return devices, nil
}
