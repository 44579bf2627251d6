package main

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/kernstash/kernstash/gpu/opencl"
)

// The runtimes that files are built for.
const (
	buildOpenCL    = "opencl"
	buildLevelZero = "levelzero"
	buildNVRTC     = "nvrtc"
	buildHIPRTC    = "hiprtc"
	buildSPIRV     = "" // Level Zero, or OpenCL: what has a device
)

var buildRuntimes = []string{buildOpenCL, buildLevelZero, buildNVRTC, buildHIPRTC}

func isSPIRV(file string) bool { return strings.EqualFold(filepath.Ext(file), ".spv") }

// runtimeOf returns the runtime that a file is for: what its name says, else what was
// chosen, else OpenCL.
func runtimeOf(file, choice string) (string, error) {
	switch strings.ToLower(filepath.Ext(file)) {
	case ".cl":
		return buildOpenCL, nil
	case ".cu":
		return buildNVRTC, nil
	case ".hip":
		return buildHIPRTC, nil
	case ".spv":
		if choice == buildOpenCL || choice == buildLevelZero {
			return choice, nil
		}
		return buildSPIRV, nil
	}
	switch choice {
	case buildLevelZero:
		return "", usagef("%s: Level Zero takes SPIR-V, whose files end in .spv", file)
	case "":
		return buildOpenCL, nil
	}
	return choice, nil
}

// buildTasks returns what there is to do for files: each for the architectures that are
// named for its runtime.
func buildTasks(files []string, o buildOptions) ([]buildTask, error) {
	if o.runtime != "" && !slices.Contains(buildRuntimes, o.runtime) {
		return nil, usagef("--runtime %s: want one of %s", o.runtime, strings.Join(buildRuntimes, ", "))
	}
	archs := map[string][]string{}
	for _, arch := range o.archs {
		runtime := archRuntime(arch)
		if runtime == "" {
			return nil, usagef("--arch %q: want sm_90 or compute_90 for NVRTC, gfx90a for HIPRTC", arch)
		}
		archs[runtime] = append(archs[runtime], arch)
	}
	var tasks []buildTask
	for _, file := range files {
		runtime, err := runtimeOf(file, o.runtime)
		if err != nil {
			return nil, err
		}
		for n, arch := range append(archs[runtime], "")[:max(len(archs[runtime]), 1)] {
			tasks = append(tasks, buildTask{file: file, runtime: runtime, arch: arch, first: n == 0})
		}
	}
	return tasks, nil
}

// archRuntime returns the runtime that an architecture is one of.
func archRuntime(arch string) string {
	switch {
	case strings.HasPrefix(arch, "sm_"), strings.HasPrefix(arch, "compute_"), strings.HasPrefix(arch, "lto_"):
		return buildNVRTC
	case strings.HasPrefix(arch, "gfx"):
		return buildHIPRTC
	}
	return ""
}

// openBuilders gives each task its builder, one for each runtime, or the reason why
// there is none. It is an error if none can be done.
func openBuilders(tasks []buildTask, o buildOptions) (builders []builder, err error) {
	type opened struct {
		runtime string
		builder builder
		err     error
	}
	known := make(map[string]opened)
	for i := range tasks {
		t := &tasks[i]
		b, ok := known[t.runtime]
		if !ok {
			b.builder, b.runtime, b.err = openBuilder(t.runtime, o)
			known[t.runtime] = b
			if b.err == nil {
				builders = append(builders, b.builder)
			}
			var usage *usageError
			if errors.As(b.err, &usage) {
				return builders, b.err
			}
		}
		t.builder, t.runtime, t.failed = b.builder, b.runtime, b.err
	}
	if len(builders) > 0 || o.report != "" {
		return builders, nil
	}
	named := make(map[string]bool)
	for _, t := range tasks {
		if !named[t.failed.Error()] {
			err = errors.Join(err, fmt.Errorf("%s: %w", t.file, t.failed))
		}
		named[t.failed.Error()] = true
	}
	return nil, err
}

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
