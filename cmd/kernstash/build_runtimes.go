package main

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
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
