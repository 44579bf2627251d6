package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/kernstash/kernstash"
	"github.com/kernstash/kernstash/gpu/opencl"
	"github.com/kernstash/kernstash/internal/demo"
	"github.com/kernstash/kernstash/stats"
)

// checkRuntimes looks at every runtime, and lets each device compile a small
// program, store it and start it again.
func (r *doctorReport) checkRuntimes(ctx context.Context, quick bool, p *progress) {
	const subject = "OpenCL"
	if !hasRuntimes {
		r.add("runtimes", verdictInfo, "", "%v", errNoRuntimes)
		return
	}
	platforms, err := opencl.Platforms()
	if err != nil {
		r.add(subject, verdictFail, "install a loader and a driver; on Debian or Ubuntu: apt-get install ocl-icd-libopencl1 pocl-opencl-icd", "%v", err)
		return
	}
	if len(platforms) == 0 {
		r.add(subject, verdictFail, "install a driver; on Debian or Ubuntu: apt-get install pocl-opencl-icd", "the loader finds no platform")
		return
	}
	index := 0
	for _, platform := range platforms {
		r.add(subject, verdictInfo, "", "%s, %s, %s", platform.Name, platform.Vendor, platform.Version)
		devices, err := platform.Devices(opencl.AnyType)
		if err == nil && len(devices) == 0 {
			err = errors.New("the driver lists none")
		}
		if err != nil {
			r.add(subject, verdictWarn, "check the driver, its environment, and the permissions of its device files",
				"%s has no device: %v", platform.Name, err)
			continue
		}
		for _, d := range devices {
			r.checkDevice(ctx, index, d, quick, p)
			index++
		}
	}
	if index == 0 {
		r.add(subject, verdictFail, "install a driver for the device, or for the CPU: on Debian or Ubuntu: apt-get install pocl-opencl-icd",
			"no platform has a device: nothing can be compiled")
	}
}

func (r *doctorReport) checkDevice(ctx context.Context, index int, d *opencl.Device, quick bool, p *progress) {
	subject := fmt.Sprintf("device %d, %s", index, deviceTitle(d))
	r.add(subject, verdictInfo, "", "%s, driver %s, %s, %d compute units", d.Type, d.Driver, d.Version, d.Limits.ComputeUnits)
	r.add(subject, verdictInfo, "", "%s", describeKind(d.Kind()))
	identity, err := d.Identify()
	if err != nil {
		r.add(subject, verdictFail, "its programs are compiled each time; report this with the driver's name and version",
			"what compiles for it cannot be told: %v", err)
		return
	}
	for _, c := range identity.Compiler {
		r.add(subject, verdictInfo, "", "compiler library %s, %s", c.Name, c.Value)
	}
	for _, v := range d.Variables() {
		r.add(subject, verdictInfo, "", "obeys %s=%s, so that is part of every key", v.Name, v.Value)
	}
	if quick {
		return
	}
	p.say("%s: compiling and storing a probe", subject)
	cold, warm, err := probeDevice(ctx, d)
	if err != nil {
		r.add(subject, verdictFail, "run with KERNSTASH_TRACE=all to see where it goes wrong", "caching does not work: %v", err)
		return
	}
	r.add(subject, verdictOK, "", "a program was compiled in %s, stored, and started from disk in %s", humanTime(cold), humanTime(warm))
}

func describeKind(k opencl.Kind) string {
	switch k {
	case opencl.Deferred:
		return "makes code when a kernel is launched: it is captured after the launch"
	case opencl.Intermediate:
		return "gives out intermediate code"
	}
	return "gives out machine code when the build ends"
}

// probeDevice compiles a program that nobody compiled before, and starts it
// again from disk, in a directory of its own.
func probeDevice(ctx context.Context, d *opencl.Device) (cold, warm time.Duration, err error) {
	dir, err := os.MkdirTemp("", "kernstash-doctor-")
	if err != nil {
		return 0, 0, err
	}
	defer os.RemoveAll(dir)
	probe := demo.All()[0]
	probe.Source = fmt.Sprintf("// probe %s\n%s", strings.ReplaceAll(dir, "\\", "/"), probe.Source)
	if cold, err = probeRun(ctx, d, dir, probe, fromCompiler); err == nil {
		warm, err = probeRun(ctx, d, dir, probe, fromDisk)
	}
	return cold, warm, err
}

// probeRun runs the probe through a Cache of its own, and wants the answer
// from a certain place.
func probeRun(ctx context.Context, d *opencl.Device, dir string, probe demo.Program, want origin) (took time.Duration, err error) {
	cache, err := kernstash.Open(kernstash.Options{
		// What a user set must not keep the probe out: that is told elsewhere.
		Flags: map[string]string{
			"dir": dir, "disable": "0", "persistent": "1", "layers": "", "max-size": "0", "min-build-time": "0",
			"min-device-image-size": "0", "max-device-image-size": "0", "close-timeout": "60s",
		},
	})
	if err != nil {
		return 0, err
	}
	m, err := openclDevice{d}.cached(cache)
	if err != nil {
		return 0, errors.Join(err, cache.Close())
	}
	defer func() { err = errors.Join(err, m.close(), cache.Close()) }()
	got, err := runOnce(ctx, probe, m)
	switch {
	case err != nil:
		return 0, err
	case got.Wrong != "":
		return 0, errors.New(got.Wrong)
	}
	s := cache.Stats()
	if from := answeredFrom(s); from != want {
		return 0, fmt.Errorf("the answer came from %q instead of %q%s", from, want, whyNot(s))
	}
	if want == fromCompiler {
		err = awaitCapture(ctx, cache, stats.Snapshot{})
	}
	return got.Total, err
}

// whyNot says why the disk did not answer, as far as that was counted.
func whyNot(s stats.Snapshot) string {
	for c := stats.MissAbsent; c <= stats.MissRefused; c++ {
		if s[c] > 0 {
			return fmt.Sprintf(" (%v)", c)
		}
	}
	return ""
}
