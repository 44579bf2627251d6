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

// checkUsed refuses flags that say nothing about any file: who gives them takes the file
// for another kind. A process of our own has a part of the files, and all flags.
func (o buildOptions) checkUsed(tasks []buildTask) error {
	if o.report != "" {
		return nil
	}
	is := func(runtimes ...string) bool {
		return slices.ContainsFunc(tasks, func(t buildTask) bool { return slices.Contains(runtimes, t.runtime) })
	}
	for _, arch := range o.archs {
		if runtime := archRuntime(arch); !is(runtime) {
			return usagef("--arch %s: no file is for %s; OpenCL C and SPIR-V are built for a device (--device)", arch, runtime)
		}
	}
	for _, f := range []struct {
		name  string
		given bool
		used  bool
		want  string
	}{
		{"name-expression", len(o.expressions) > 0, is(buildNVRTC, buildHIPRTC), "CUDA C++ or HIP C++"},
		{"program-name", o.programName != nil, is(buildNVRTC, buildHIPRTC), "CUDA C++ or HIP C++"},
		{"device", o.device != "", is(buildOpenCL, buildLevelZero, buildSPIRV), "a device; --arch says for what CUDA C++ and HIP C++ are built"},
		{"local-size", len(o.localSizes) > 0, is(buildOpenCL, buildLevelZero, buildSPIRV), "a driver that makes code for local sizes"},
		{"no-options", o.noOptions, is(buildOpenCL, buildLevelZero, buildSPIRV), "a driver that tells no options from empty ones"},
		{"runtime " + o.runtime, o.runtime != "", is(o.runtime), "it, as their names say"},
	} {
		if f.given && !f.used {
			return usagef("--%s: no file is for %s", f.name, f.want)
		}
	}
	return nil
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
			if isUsage(b.err) {
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
