package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/spf13/cobra"

	"github.com/kernstash/kernstash"
	"github.com/kernstash/kernstash/internal/demo"
	"github.com/kernstash/kernstash/key"
	"github.com/kernstash/kernstash/reason"
	"github.com/kernstash/kernstash/stats"
)

// doctorRuntime is a runtime that the doctor looks at.
type doctorRuntime struct {
	name  string
	title string

	// check looks at it, and compiles unless it is to be quick. It returns whether
	// the runtime is here and works; that it is not here is no fault.
	check func(ctx context.Context, r *doctorReport, quick bool) bool
}

const anyAdvice = "install one: a driver for your device, or one for the CPU (on Debian or Ubuntu: apt-get install " +
	"ocl-icd-libopencl1 pocl-opencl-icd); NVIDIA's driver and NVRTC; AMD's HIPRTC (libamdhip64-5); " +
	"Intel's driver (libze1 intel-opencl-icd)"

// runtimeReport is what a process that looks at one runtime answers.
type runtimeReport struct {
	Works    bool      `json:"works"`
	Devices  bool      `json:"devices"` // there is one, whether caching works for it or not
	Findings []finding `json:"findings"`
}

// checkRuntimes looks at every runtime, each in a process of its own, and lets it
// compile a small program, store it and start it again.
func (r *doctorReport) checkRuntimes(ctx context.Context, quick bool, p *progress) {
	if !hasRuntimes {
		r.add("runtimes", verdictInfo, "", "%v", errNoRuntimes)
		return
	}
	// With caches of their own drivers would not compile what they know.
	dir, err := os.MkdirTemp("", "kernstash-doctor-")
	if err != nil {
		r.add("runtimes", verdictFail, "look at the directory for temporary files", "%v", err)
		return
	}
	defer os.RemoveAll(dir)
	var env []string
	for _, name := range driverCaches {
		env = append(env, name+"="+dir)
	}
	works, runs, wrong := false, false, false
	for _, rt := range doctorRuntimes {
		if !quick {
			p.say("%s: compiling and storing a probe", rt.title)
		}
		var of runtimeReport
		err := askSelf(ctx, []string{"doctor-runtime", "--runtime=" + rt.name, fmt.Sprintf("--quick=%t", quick)}, nil, &of, env...)
		if err != nil {
			r.add(rt.title, verdictFail, "programs that use it may end like this: look for a newer driver or compiler, and report this to those who make it",
				"the process that looked at it ended: %v", err)
			wrong = true
		}
		for _, f := range of.Findings {
			r.Findings = append(r.Findings, f)
			wrong = wrong || f.Verdict == verdictFail
		}
		works = works || of.Works
		runs = runs || of.Devices
	}
	r.OK = r.OK && !wrong
	switch {
	case wrong || runs:
	case works:
		r.add("devices", verdictFail, anyAdvice+". Building ahead of time needs none",
			"there is none: what is compiled here cannot run here")
	default:
		r.add("devices", verdictFail, anyAdvice, "no runtime works: nothing can be compiled")
	}
}

// doctorRuntimeCommand is how the doctor looks at one runtime.
func (a *app) doctorRuntimeCommand() *cobra.Command {
	var name, report string
	var quick bool
	cmd := &cobra.Command{
		Use:    "doctor-runtime",
		Hidden: true,
		Args:   cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			for _, rt := range doctorRuntimes {
				if rt.name == name {
					var r doctorReport
					works := rt.check(cmd.Context(), &r, quick)
					return answerTo(report, runtimeReport{works, r.devices, r.Findings})
				}
			}
			return usagef("--runtime %s: there is none", name)
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&name, "runtime", "", "")
	flags.StringVar(&report, "report", "", "")
	flags.BoolVar(&quick, "quick", false, "")
	return cmd
}

// addIdentity tells what decides how a device or a library compiles, and whether that
// is known.
func (r *doctorReport) addIdentity(subject string, identity key.Device, err error, variables []key.Pair) bool {
	if err != nil {
		r.add(subject, verdictFail, "its programs are compiled each time; report this with the driver's name and version",
			"what compiles for it cannot be told: %v", err)
		return false
	}
	for _, c := range identity.Compiler {
		r.add(subject, verdictInfo, "", "compiler library %s, %s", c.Name, c.Value)
	}
	for _, v := range variables {
		r.add(subject, verdictInfo, "", "obeys %s=%s, so that is part of every key", v.Name, v.Value)
	}
	return true
}

// addProbe probes, and tells how that went.
func (r *doctorReport) addProbe(subject string, probe func(dir string, want origin) (time.Duration, error)) bool {
	cold, warm, err := probeTwice(probe)
	if err != nil {
		r.add(subject, verdictFail, "run with KERNSTASH_TRACE=all to see where it goes wrong", "caching does not work: %v", err)
		return false
	}
	r.add(subject, verdictOK, "", "a program was compiled in %s, stored, and started from disk in %s", humanTime(cold), humanTime(warm))
	return true
}

// probeTwice compiles a program that nobody compiled before, and starts it again from
// disk, in a directory of its own.
func probeTwice(probe func(dir string, want origin) (time.Duration, error)) (cold, warm time.Duration, err error) {
	dir, err := os.MkdirTemp("", "kernstash-doctor-")
	if err != nil {
		return 0, 0, err
	}
	defer os.RemoveAll(dir)
	if cold, err = probe(dir, fromCompiler); err == nil {
		warm, err = probe(dir, fromDisk)
	}
	return cold, warm, err
}

// probeOptions are those of a cache in a directory. What a user set must not keep the
// probe out: that is told elsewhere.
func probeOptions(dir string) kernstash.Options {
	return kernstash.Options{Flags: map[string]string{
		"dir": dir, "disable": "0", "mode": "on", "persistent": "1", "layers": "", "max-size": "0", "min-build-time": "0",
		"min-device-image-size": "0", "max-device-image-size": "0", "close-timeout": "60s",
	}}
}

// checkFrom wants an answer from a certain place.
func checkFrom(s stats.Snapshot, want origin) error {
	if from := answeredFrom(s); from != want {
		return fmt.Errorf("the answer came from %q instead of %q%s", from, want, whyNot(s))
	}
	return nil
}

// probeDevice runs a program of the demonstration on a device.
func probeDevice[D any](ctx context.Context, open func(*kernstash.Cache, D) (*machine, error), d D) func(dir string, want origin) (time.Duration, error) {
	return func(dir string, want origin) (took time.Duration, err error) {
		cache, err := kernstash.Open(probeOptions(dir))
		if err != nil {
			return 0, err
		}
		m, err := open(cache, d)
		if err != nil {
			return 0, errors.Join(err, cache.Close())
		}
		defer func() { err = errors.Join(err, m.close(), cache.Close()) }()
		got, err := runOnce(ctx, demo.All()[0].Fresh(dir), m)
		switch {
		case err != nil:
			return 0, err
		case got.Wrong != "":
			return 0, errors.New(got.Wrong)
		}
		if err := checkFrom(cache.Stats(), want); err != nil {
			return 0, err
		}
		if want == fromCompiler {
			err = awaitCapture(ctx, cache, stats.Snapshot{})
		}
		return got.Total, err
	}
}

// whyNot says why the disk did not answer, as far as that was counted.
func whyNot(s stats.Snapshot) string {
	for r := reason.MissAbsent; r <= reason.MissRefused; r++ {
		if s[stats.Of(r)] > 0 {
			return fmt.Sprintf(" (%v)", r)
		}
	}
	return ""
}
