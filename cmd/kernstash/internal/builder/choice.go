package builder

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/kernstash/kernstash/cmd/kernstash/internal/cli"
)

// The runtimes that files are built for.
const (
	OpenCL    = "opencl"
	LevelZero = "levelzero"
	NVRTC     = "nvrtc"
	HIPRTC    = "hiprtc"
	SPIRV     = "" // Level Zero, or OpenCL: what has a device
)

// Runtimes are the names of runtimes that --runtime takes.
var Runtimes = []string{OpenCL, LevelZero, NVRTC, HIPRTC}

// IsSPIRV reports whether a file is named as SPIR-V is.
func IsSPIRV(file string) bool { return strings.EqualFold(filepath.Ext(file), ".spv") }

// runtimeOf returns the runtime that a file is for: what its name says, else what was
// chosen, else OpenCL.
func runtimeOf(file, choice string) (string, error) {
	switch strings.ToLower(filepath.Ext(file)) {
	case ".cl":
		return OpenCL, nil
	case ".cu":
		return NVRTC, nil
	case ".hip":
		return HIPRTC, nil
	case ".spv":
		if choice == OpenCL || choice == LevelZero {
			return choice, nil
		}
		return SPIRV, nil
	}
	switch choice {
	case LevelZero:
		return "", cli.Usagef("%s: Level Zero takes SPIR-V, whose files end in .spv", file)
	case "":
		return OpenCL, nil
	}
	return choice, nil
}

// tasksFor returns what there is to do for files: each for the architectures that are
// named for its runtime.
func tasksFor(files []string, o Options) ([]Task, error) {
	if o.Runtime != "" && !slices.Contains(Runtimes, o.Runtime) {
		return nil, cli.Usagef("--runtime %s: want one of %s", o.Runtime, strings.Join(Runtimes, ", "))
	}
	archs := map[string][]string{}
	for _, arch := range o.Archs {
		runtime := archRuntime(arch)
		if runtime == "" {
			return nil, cli.Usagef("--arch %q: want sm_90 or compute_90 for NVRTC, gfx90a for HIPRTC", arch)
		}
		archs[runtime] = append(archs[runtime], arch)
	}
	var tasks []Task
	for _, file := range files {
		runtime, err := runtimeOf(file, o.Runtime)
		if err != nil {
			return nil, err
		}
		for n, arch := range append(archs[runtime], "")[:max(len(archs[runtime]), 1)] {
			tasks = append(tasks, Task{File: file, runtime: runtime, Arch: arch, first: n == 0})
		}
	}
	return tasks, nil
}

// checkUsed refuses flags that say nothing about any file: who gives them takes the file
// for another kind. A process of our own has a part of the files, and all flags.
func (o Options) checkUsed(tasks []Task) error {
	if o.Report != "" {
		return nil
	}
	is := func(runtimes ...string) bool {
		return slices.ContainsFunc(tasks, func(t Task) bool { return slices.Contains(runtimes, t.runtime) })
	}
	for _, arch := range o.Archs {
		if runtime := archRuntime(arch); !is(runtime) {
			return cli.Usagef("--arch %s: no file is for %s; OpenCL C and SPIR-V are built for a device (--device)", arch, runtime)
		}
	}
	for _, f := range []struct {
		name  string
		given bool
		used  bool
		want  string
	}{
		{"name-expression", len(o.Expressions) > 0, is(NVRTC, HIPRTC), "CUDA C++ or HIP C++"},
		{"program-name", o.ProgramName != nil, is(NVRTC, HIPRTC), "CUDA C++ or HIP C++"},
		{"device", o.Device != "", is(OpenCL, LevelZero, SPIRV), "a device; --arch says for what CUDA C++ and HIP C++ are built"},
		{"local-size", len(o.LocalSizes) > 0, is(OpenCL, LevelZero, SPIRV), "a driver that makes code for local sizes"},
		{"no-options", o.NoOptions, is(OpenCL, LevelZero, SPIRV), "a driver that tells no options from empty ones"},
		{"runtime " + o.Runtime, o.Runtime != "", is(o.Runtime), "it, as their names say"},
	} {
		if f.given && !f.used {
			return cli.Usagef("--%s: no file is for %s", f.name, f.want)
		}
	}
	return nil
}

// archRuntime returns the runtime that an architecture is one of.
func archRuntime(arch string) string {
	switch {
	case strings.HasPrefix(arch, "sm_"), strings.HasPrefix(arch, "compute_"), strings.HasPrefix(arch, "lto_"):
		return NVRTC
	case strings.HasPrefix(arch, "gfx"):
		return HIPRTC
	}
	return ""
}

// openBuilders gives each task its builder, one for each runtime, or the reason why
// there is none. It is an error if none can be done.
func openBuilders(tasks []Task, o Options) (builders []Builder, err error) {
	type opened struct {
		runtime string
		builder Builder
		err     error
	}
	known := make(map[string]opened)
	for i := range tasks {
		t := &tasks[i]
		b, ok := known[t.runtime]
		if !ok {
			b.builder, b.runtime, b.err = o.Open(t.runtime, o)
			known[t.runtime] = b
			if b.err == nil {
				builders = append(builders, b.builder)
			}
			if cli.IsUsage(b.err) {
				return builders, b.err
			}
		}
		t.builder, t.runtime, t.failed = b.builder, b.runtime, b.err
	}
	if len(builders) > 0 || o.Report != "" {
		return builders, nil
	}
	named := make(map[string]bool)
	for _, t := range tasks {
		if !named[t.failed.Error()] {
			err = errors.Join(err, fmt.Errorf("%s: %w", t.File, t.failed))
		}
		named[t.failed.Error()] = true
	}
	return nil, err
}
