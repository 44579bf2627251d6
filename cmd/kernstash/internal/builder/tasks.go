package builder

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/kernstash/kernstash"
	"github.com/kernstash/kernstash/cmd/kernstash/internal/cli"
	"github.com/kernstash/kernstash/cmd/kernstash/internal/runtimes"
	"github.com/kernstash/kernstash/gpu/tool"
	"github.com/kernstash/kernstash/internal/human"
	"github.com/kernstash/kernstash/key"
	"github.com/kernstash/kernstash/reason"
	"github.com/kernstash/kernstash/stats"
)

// kinds are what the names of files say of their code.
var kinds = map[string]key.Kind{".cl": key.OpenCLC, ".cu": key.CUDACpp, ".hip": key.HIPCpp, ".spv": key.SPIRV}

// Builds reports whether files are built for a runtime.
func Builds(rt *tool.Runtime) bool { return len(rt.Files) > 0 }

// taskOf returns what a file is and what it is built for: as its name says, else as was
// chosen, else it is OpenCL C. Of SPIR-V the runtime is the first that has a device, unless
// one was chosen.
func taskOf(file, choice string) (Task, error) {
	chosen := runtimes.Named(choice)
	kind, known := kinds[strings.ToLower(filepath.Ext(file))]
	switch {
	case known:
	case chosen == nil:
		kind = key.OpenCLC
	default:
		kind = chosen.Files[0]
		if kind == key.SPIRV {
			return Task{}, cli.Usagef("%s: %s takes SPIR-V, whose files end in .spv", file, chosen.Title)
		}
	}
	var candidates []*tool.Runtime
	for _, rt := range slices.Backward(runtimes.All) { // the last is asked first: it takes nothing else
		if slices.Contains(rt.Files, kind) {
			candidates = append(candidates, rt)
		}
	}
	if slices.Contains(candidates, chosen) {
		candidates = []*tool.Runtime{chosen}
	}
	return Task{File: tool.File{Path: file, Kind: kind}, candidates: candidates}, nil
}

// tasksFor returns the tasks of files: each for the architectures named for its runtime.
func tasksFor(files []string, o Options) ([]Task, error) {
	if names := runtimes.Names(Builds); o.Runtime != "" && !slices.Contains(names, o.Runtime) {
		return nil, cli.Usagef("--runtime %s: want one of %s", o.Runtime, strings.Join(names, ", "))
	}
	archs := make(map[*tool.Runtime][]string)
	for _, arch := range o.Archs {
		rt := archRuntime(arch)
		if rt == nil {
			return nil, cli.Usagef("--arch %q: want %s", arch, wantedArchs())
		}
		archs[rt] = append(archs[rt], arch)
	}
	var tasks []Task
	for _, file := range files {
		t, err := taskOf(file, o.Runtime)
		if err != nil {
			return nil, err
		}
		t.first = true
		own := archs[t.candidates[0]]
		for _, arch := range append(own, "")[:max(len(own), 1)] {
			t.Arch = arch
			tasks = append(tasks, t)
			t.first = false
		}
	}
	return tasks, nil
}

// checkUsed refuses flags about no file: who gives them takes a file for another kind.
func (o Options) checkUsed(tasks []Task) error {
	is := func(holds func(*tool.Runtime) bool) bool {
		return slices.ContainsFunc(tasks, func(t Task) bool { return slices.ContainsFunc(t.candidates, holds) })
	}
	device := is(func(rt *tool.Runtime) bool { return rt.Devices != nil })
	compiler := is(func(rt *tool.Runtime) bool { return rt.Devices == nil })
	chosen := is(func(rt *tool.Runtime) bool { return rt.Name == o.Runtime })
	for _, arch := range o.Archs {
		if of := archRuntime(arch); !is(func(rt *tool.Runtime) bool { return rt == of }) {
			return cli.Usagef("--arch %s: no file is for %s; OpenCL C and SPIR-V are built for a device (--device)", arch, of.Name)
		}
	}
	for _, f := range []struct {
		name  string
		given bool
		used  bool
		want  string
	}{
		{"name-expression", len(o.Expressions) > 0, compiler, "CUDA C++ or HIP C++"},
		{"program-name", o.ProgramName != nil, compiler, "CUDA C++ or HIP C++"},
		{"device", o.Device != "", device, "a device; --arch says for what CUDA C++ and HIP C++ are built"},
		{"local-size", len(o.LocalSizes) > 0, device, "a driver that makes code for local sizes"},
		{"no-options", o.NoOptions, device, "a driver that tells no options from empty ones"},
		{"runtime " + o.Runtime, o.Runtime != "", chosen, "it, as their names say"},
	} {
		if f.given && !f.used {
			return cli.Usagef("--%s: no file is for %s", f.name, f.want)
		}
	}
	return nil
}

// archRuntime returns the runtime that an architecture is one of, nil for none.
func archRuntime(arch string) *tool.Runtime {
	for _, rt := range runtimes.All {
		if slices.ContainsFunc(rt.Archs, func(begins string) bool { return strings.HasPrefix(arch, begins) }) {
			return rt
		}
	}
	return nil
}

// wantedArchs says what architectures are called.
func wantedArchs() string {
	var all []string
	for _, rt := range runtimes.All {
		if len(rt.Archs) > 0 {
			all = append(all, fmt.Sprintf("%s… for %s", strings.Join(rt.Archs, "… or "), rt.Title))
		}
	}
	return strings.Join(all, ", ")
}

// Archs are offered by the shells; compilers know which there are.
func Archs() (all []string) {
	for _, rt := range runtimes.All {
		all = append(all, rt.OfferedArchs...)
	}
	return all
}

// open opens a builder of the first runtime that can build a task.
func open(t Task, o Options) (rt *tool.Runtime, b tool.Builder, err error) {
	for _, rt := range t.candidates {
		b, failed := openOf(rt, t, o)
		if failed == nil {
			return rt, b, nil
		}
		if rt == t.candidates[len(t.candidates)-1] && cli.IsUsage(failed) {
			return rt, nil, failed
		}
		if err == nil {
			err = failed
		} else {
			err = fmt.Errorf("%w; or: %w", err, failed)
		}
	}
	if len(t.candidates) > 1 {
		err = fmt.Errorf("no device for %v: %w", t.Kind, err)
	}
	return nil, nil, err
}

// openOf opens a builder of one runtime; where none was chosen, of a device that takes the task.
func openOf(rt *tool.Runtime, t Task, o Options) (tool.Builder, error) {
	if rt.Open != nil {
		return rt.Open(o.BuildOptions)
	}
	devices, err := rt.Devices()
	if err != nil {
		return nil, err
	}
	if len(t.candidates) > 1 {
		devices = slices.DeleteFunc(devices, func(d tool.Device) bool { return !slices.Contains(d.Takes, t.Kind) })
		if len(devices) == 0 {
			return nil, fmt.Errorf("no %s device here takes %v", rt.Title, t.Kind)
		}
	}
	d, err := runtimes.Pick(devices, o.Device)
	if err != nil {
		return nil, err
	}
	return d.Open(o.BuildOptions)
}

// Task is a file for a builder.
type Task struct {
	tool.File
	candidates []*tool.Runtime // that may build it; the one that does, once it is known
	first      bool            // of the tasks of its file
	builder    tool.Builder
	failed     error // why there is no builder
}

// runtime names the runtime, "" while it may be one of several.
func (t *Task) runtime() string {
	if len(t.candidates) == 1 {
		return t.candidates[0].Name
	}
	return ""
}

// buildAll does all tasks, some at a time, and calls tell after each.
func buildAll(ctx context.Context, tasks []Task, jobs int, tell func(done int, r Result)) []Result {
	results := make([]Result, len(tasks))
	slots := make(chan struct{}, jobs)
	var mu sync.Mutex
	var workers sync.WaitGroup
	done := 0
	for i, t := range tasks {
		slots <- struct{}{}
		workers.Go(func() {
			results[i] = t.do(ctx)
			mu.Lock()
			done++
			tell(done, results[i])
			mu.Unlock()
			<-slots
		})
	}
	workers.Wait()
	return results
}

// do builds a file and says how that ended.
func (t Task) do(ctx context.Context) Result {
	r := Result{File: t.Path, Runtime: t.runtime(), Arch: t.Arch}
	start := time.Now()
	var built tool.Built
	err := t.failed
	if err == nil {
		built, err = t.builder.Build(ctx, t.File)
	}
	r.MS = human.Millis(time.Since(start))
	var diagnostic *kernstash.BuildError
	switch {
	case errors.As(err, &diagnostic):
		r.State, r.Reason, r.Log = StateFailed, "the compiler refused it", diagnostic.Log
		if diagnostic.Err != nil && strings.TrimSpace(diagnostic.Log) == "" {
			r.Reason = diagnostic.Err.Error()
		}
	case err != nil:
		r.State, r.Reason = StateFailed, err.Error()
	default:
		r.check(built)
	}
	return r
}

// check reads from what was counted how a file ended that did not fail.
func (r *Result) check(b tool.Built) {
	s := b.Counts
	stored := s[stats.DiskPuts] + s[stats.DiskPutsBettered] + s[stats.DiskPutsExisting]
	switch {
	case s[stats.DiskHits] > 0:
		r.State = StateThere
	case stored > 0:
		r.State, r.Bytes = StateBuilt, s[stats.DiskBytesWritten]
	case b.NotCacheable != "":
		r.State, r.Reason = StateNotCacheable, b.NotCacheable
	case notCacheable(s) != "":
		r.State, r.Reason = StateNotCacheable, notCacheable(s)
	case b.NotStored != "":
		r.State, r.Reason = StateNotStored, b.NotStored
	case s[stats.DiskPutsDropped] > 0:
		r.State, r.Reason = StateNotStored, "the cache is full; run 'kernstash gc'"
	default:
		r.State, r.Reason = StateNotStored, "it could not be written; 'kernstash doctor' says why"
	}
}

// notCacheable says which rule kept a program out, in words.
func notCacheable(s stats.Snapshot) string {
	for r := reason.NotCacheableChanged; r <= reason.NotCacheableRuntime; r++ {
		if s[stats.Of(r)] > 0 {
			return r.Words()
		}
	}
	return ""
}
