//go:build !nogpu

package main

import (
	"errors"
	"fmt"
	"slices"

	"github.com/kernstash/kernstash/gpu/levelzero"
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
	d, err := pickDevice(devices, func(d *levelzero.Device) string { return d.Name }, o.device)
	if err != nil {
		return nil, err
	}
	return openLevelZeroBuilder(o, d)
}

// findSPIRV opens what SPIR-V can be built for: a device of Level Zero, else one of
// OpenCL that takes it.
func findSPIRV(o buildOptions) (builder, string, error) {
	b, without := findLevelZero(o)
	if without == nil {
		return b, buildLevelZero, nil
	}
	all, err := allDevices()
	if err == nil {
		all = slices.DeleteFunc(all, func(d *opencl.Device) bool { return d.ILVersion == "" })
		var d *opencl.Device
		if len(all) == 0 {
			err = errors.New("no OpenCL device here takes SPIR-V")
		} else if d, err = pickDevice(all, deviceTitle, o.device); err == nil {
			b, err := openOpenCLBuilder(o, d)
			return b, buildOpenCL, err
		}
	}
	if isUsage(err) {
		return nil, buildOpenCL, err
	}
	return nil, buildSPIRV, fmt.Errorf("no device for SPIR-V: %w; or: %w", without, err)
}
