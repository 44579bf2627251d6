//go:build !nogpu

package main

import (
	"errors"
	"fmt"

	"github.com/kernstash/kernstash/gpu/opencl"
)

// openBuilder opens the builder of a runtime, and says which runtime it is of.
func openBuilder(runtime string, o buildOptions) (b builder, as string, err error) {
	if !hasRuntimes {
		return nil, runtime, errNoRuntimes
	}
	switch runtime {
	case buildNVRTC:
		b, err = openRTCBuilder(o, openNVRTC)
	case buildHIPRTC:
		b, err = openRTCBuilder(o, openHIPRTC)
	case buildLevelZero:
		b, err = findLevelZero(o)
	case buildSPIRV:
		return findSPIRV(o)
	default:
		device, failed := openDevice(o.device)
		if failed != nil {
			return nil, runtime, failed
		}
		b, err = openOpenCLBuilder(o, device)
	}
	return b, runtime, err
}

func findLevelZero(o buildOptions) (builder, error) {
	devices, err := levelzeroDevices()
	if err != nil {
		return nil, err
	}
	titles := make([]string, len(devices))
	for i, d := range devices {
		titles[i] = d.Name
	}
	i, err := chooseDevice(titles, o.device)
	if err != nil {
		return nil, err
	}
	return openLevelZeroBuilder(o, devices[i])
}

// findSPIRV opens what SPIR-V can be built for: a device of Level Zero, else one of
// OpenCL that takes it.
func findSPIRV(o buildOptions) (builder, string, error) {
	b, levelzero := findLevelZero(o)
	if levelzero == nil {
		return b, buildLevelZero, nil
	}
	all, err := allDevices()
	if err == nil {
		var devices []*opencl.Device
		var titles []string
		for _, d := range all {
			if d.ILVersion != "" {
				devices, titles = append(devices, d), append(titles, deviceTitle(d))
			}
		}
		i := 0
		if len(devices) == 0 {
			err = errors.New("no OpenCL device here takes SPIR-V")
		} else if i, err = chooseDevice(titles, o.device); err == nil {
			b, err := openOpenCLBuilder(o, devices[i])
			return b, buildOpenCL, err
		}
	}
	var usage *usageError
	if errors.As(err, &usage) {
		return nil, buildOpenCL, err
	}
	return nil, buildSPIRV, fmt.Errorf("no device for SPIR-V: %w; or: %w", levelzero, err)
}
