//go:build !nogpu

// Package runtimes adapts each GPU runtime to what the command does with it: to look at
// it, to build for it, to run programs on it.
package runtimes

import (
	"errors"
	"fmt"
	"slices"

	"github.com/kernstash/kernstash/cmd/kernstash/internal/builder"
	"github.com/kernstash/kernstash/cmd/kernstash/internal/cli"
	"github.com/kernstash/kernstash/cmd/kernstash/internal/doctor"
	"github.com/kernstash/kernstash/cmd/kernstash/internal/machine"
	"github.com/kernstash/kernstash/gpu/cuda"
	"github.com/kernstash/kernstash/gpu/levelzero"
	"github.com/kernstash/kernstash/gpu/opencl"
)

// OpenBuilder opens the builder of a runtime, and says which runtime it is of.
func OpenBuilder(runtime string, o builder.Options) (b builder.Builder, as string, err error) {
	if !cli.HasRuntimes {
		return nil, runtime, cli.ErrNoRuntimes
	}
	switch runtime {
	case builder.NVRTC:
		b, err = openRTCBuilder(o, openNVRTC)
	case builder.HIPRTC:
		b, err = openRTCBuilder(o, openHIPRTC)
	case builder.LevelZero:
		b, err = findLevelZero(o)
	case builder.SPIRV:
		return findSPIRV(o)
	default:
		device, failed := openDevice(o.Device)
		if failed != nil {
			return nil, runtime, failed
		}
		b, err = openOpenCLBuilder(o, device)
	}
	return b, runtime, err
}

// findSPIRV opens what SPIR-V can be built for: a device of Level Zero, else one of
// OpenCL that takes it.
func findSPIRV(o builder.Options) (builder.Builder, string, error) {
	b, without := findLevelZero(o)
	if without == nil {
		return b, builder.LevelZero, nil
	}
	all, err := openclDevices()
	if err == nil {
		all = slices.DeleteFunc(all, func(d *opencl.Device) bool { return d.ILVersion == "" })
		var d *opencl.Device
		if len(all) == 0 {
			err = errors.New("no OpenCL device here takes SPIR-V")
		} else if d, err = machine.Pick(all, deviceTitle, o.Device); err == nil {
			b, err := openOpenCLBuilder(o, d)
			return b, builder.OpenCL, err
		}
	}
	if cli.IsUsage(err) {
		return nil, builder.OpenCL, err
	}
	return nil, builder.SPIRV, fmt.Errorf("no device for SPIR-V: %w; or: %w", without, err)
}

// Machines are all, in the order in which they are looked for.
var Machines = []machine.Runtime{
	{
		Name: "opencl", Title: "OpenCL", Peer: "driver's cache",
		Note: "Driver's cache: kernstash switched off, the driver's own cache filled by another process.",
		Devices: func() ([]machine.Device, error) {
			all, err := openclDevices()
			return machine.DevicesOf(all, err, deviceTitle, openclMachine)
		},
	},
	{
		Name: "cuda", Title: "CUDA", Peer: "alone",
		Note: "Alone: kernstash switched off, NVIDIA's own caches filled by another process. NVRTC compiles anew in each\n" +
			"process; the driver keeps only what it makes of PTX, and here NVRTC makes machine code.",
		Devices: func() ([]machine.Device, error) {
			all, err := cuda.Devices()
			if err != nil {
				err = fmt.Errorf("no CUDA here: %w", err)
			}
			return machine.DevicesOf(all, err, func(d *cuda.Device) string { return d.Name }, cudaMachine)
		},
	},
	{
		Name: "levelzero", Title: "Level Zero", Peer: "driver's cache",
		Note: "Driver's cache: kernstash switched off, the driver's own cache (l0_cache) filled by another process; some\n" +
			"releases keep none for SPIR-V.",
		Devices: func() ([]machine.Device, error) {
			all, err := levelzeroDevices()
			return machine.DevicesOf(all, err, func(d *levelzero.Device) string { return d.Name }, levelzeroMachine)
		},
	},
}

// Doctor are those that the doctor looks at.
var Doctor = []doctor.Runtime{
	{Name: "opencl", Title: "OpenCL", Check: checkOpenCL},
	{Name: "cuda", Title: "CUDA", Check: checkCUDA},
	{Name: "nvrtc", Title: "NVRTC", Check: checkNVRTC},
	{Name: "hiprtc", Title: "HIPRTC", Check: checkHIPRTC},
	{Name: "levelzero", Title: "Level Zero", Check: checkLevelZero},
}
