// Package runtimes lists the GPU runtimes that the command knows, and finds their devices.
package runtimes

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/kernstash/kernstash/cmd/kernstash/internal/cli"
	cuda "github.com/kernstash/kernstash/gpu/cuda/tool"
	levelzero "github.com/kernstash/kernstash/gpu/levelzero/tool"
	opencl "github.com/kernstash/kernstash/gpu/opencl/tool"
	rtc "github.com/kernstash/kernstash/gpu/rtc/tool"
	"github.com/kernstash/kernstash/gpu/tool"
	"github.com/kernstash/kernstash/internal/human"
	"github.com/kernstash/kernstash/key"
	"github.com/kernstash/kernstash/stats"
	"github.com/kernstash/kernstash/store/disk"
	"github.com/kernstash/kernstash/worker/build"
)

// All are in the order in which they are looked at, and in which a device is looked for.
var All = []*tool.Runtime{&opencl.Runtime, &cuda.Runtime, &levelzero.Runtime, &rtc.NVRTC, &rtc.HIPRTC}

// ErrNone is what commands say that need what -tags nogpu left out.
var ErrNone = errors.New("this kernstash was built without runtimes (-tags nogpu): " +
	"build it without that tag to compile and run programs")

// Caches are the variables that say where drivers keep what they have compiled.
func Caches() (names []string) {
	for _, rt := range All {
		names = append(names, rt.Caches...)
	}
	return names
}

// Environ returns the environment of a process: env without settings of the cache, traces
// apart, and with the drivers' caches in dir.
func Environ(env []string, dir string) []string {
	caches := Caches()
	env = slices.DeleteFunc(slices.Clone(env), func(kv string) bool {
		name, _, _ := strings.Cut(kv, "=")
		return slices.Contains(caches, name) || name == "POCL_KERNEL_CACHE" ||
			strings.HasPrefix(name, "KERNSTASH_") && !strings.HasPrefix(name, "KERNSTASH_TRACE")
	})
	for _, name := range caches {
		env = append(env, name+"="+dir)
	}
	return env
}

// Served returns the names, for people, of the runtimes that `kernstash run` serves.
func Served() string {
	titles := titles(func(c tool.Compiler) bool { return c.Served })
	last := len(titles) - 1
	return strings.Join(titles[:last], ", ") + " or " + titles[last]
}

// Layered returns the names, for people, of the runtimes whose loader may know layers.
func Layered() string {
	return strings.Join(titles(func(c tool.Compiler) bool { return c.Layers != nil }), ", ")
}

// Layers returns how layers come into the programs of the one runtime that has them.
func Layers() tool.Layers {
	for _, rt := range All {
		for _, c := range rt.Compilers {
			if c.Layers != nil {
				return *c.Layers
			}
		}
	}
	return tool.Layers{}
}

// titles returns the names of the runtimes with a compiler that is so.
func titles(is func(tool.Compiler) bool) (all []string) {
	for _, rt := range All {
		if slices.ContainsFunc(rt.Compilers, is) {
			all = append(all, rt.Title)
		}
	}
	return all
}

// Named returns the runtime of a name, nil for none.
func Named(name string) *tool.Runtime {
	for _, rt := range All {
		if rt.Name == name {
			return rt
		}
	}
	return nil
}

// Names returns the names of the runtimes for which has holds.
func Names(has func(*tool.Runtime) bool) (names []string) {
	for _, rt := range All {
		if has(rt) {
			names = append(names, rt.Name)
		}
	}
	return names
}

// Pick returns the device of all that a choice means: its number, or the one whose title
// contains it, upper and lower case being the same; the first one for none.
func Pick(all []tool.Device, choice string) (d tool.Device, err error) {
	if n, err := strconv.Atoi(cmp.Or(choice, "0")); err == nil && n >= 0 && n < len(all) {
		return all[n], nil
	}
	var found []tool.Device
	here := ""
	for i, d := range all {
		if strings.Contains(strings.ToLower(d.Title), strings.ToLower(choice)) {
			found = append(found, d)
		}
		here += fmt.Sprintf("\n  %d  %s", i, human.Printable(d.Title, false))
	}
	why := "more than one is called so"
	switch _, err := strconv.Atoi(choice); {
	case err == nil:
		why = "there is no such number"
	case len(found) == 1:
		return found[0], nil
	case len(found) == 0:
		why = "none is called so"
	}
	return d, cli.Usagef("--device %s: %s; here are:%s", choice, why, here)
}

// Here returns the identities of a runtime's devices. A process of its own looks for them, as drivers
// may end the one that loads them.
func Here(ctx context.Context, rt *tool.Runtime) (all []key.Device, err error) {
	return all, cli.AskPart(ctx, "devices", rt.Name, nil, nil, &all)
}

// Identities is what that process does.
func Identities(_ context.Context, name string) ([]key.Device, error) {
	rt := Named(name)
	if rt == nil || rt.Identities == nil {
		return nil, fmt.Errorf("devices of %q cannot be listed", name)
	}
	return rt.Identities()
}

// BuiltTitles names the runtimes for whose devices a worker builds.
func BuiltTitles() string {
	var titles []string
	for _, rt := range All {
		if rt.Job != nil {
			titles = append(titles, rt.Title)
		}
	}
	return strings.Join(titles, ", ")
}

// Built returns the devices here for which a worker builds.
func Built(ctx context.Context) (all []key.Device, err error) {
	for _, rt := range All {
		if rt.Job == nil {
			continue
		}
		of, failed := Here(ctx, rt)
		all, err = append(all, of...), errors.Join(err, failed)
	}
	if len(all) > 0 {
		err = nil
	}
	return all, err
}

// BuildJob is the whole of a process that does one job, and ends it: drivers are bad at that.
func BuildJob(o disk.Options) error {
	counts := new(stats.Counters)
	o.Recorder = counts
	d := disk.New(o)
	do := make(map[string]build.Do)
	for _, rt := range All {
		if rt.Job != nil {
			do[rt.Name] = rt.Job
		}
	}
	status := build.Main(d, do)
	_ = d.AddStats(counts.Snapshot())
	_ = d.Close()
	os.Exit(status)
	return nil
}
