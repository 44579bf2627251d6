package doctor

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/kernstash/kernstash"
	"github.com/kernstash/kernstash/cmd/kernstash/internal/cli"
	"github.com/kernstash/kernstash/cmd/kernstash/internal/demo/programs"
	"github.com/kernstash/kernstash/cmd/kernstash/internal/machine"
	"github.com/kernstash/kernstash/cmd/kernstash/internal/terminal"
	"github.com/kernstash/kernstash/internal/human"
	"github.com/kernstash/kernstash/key"
	"github.com/kernstash/kernstash/reason"
	"github.com/kernstash/kernstash/stats"
)

// Runtime is a runtime that the doctor looks at.
type Runtime struct {
	Name  string
	Title string

	// check looks at it, and compiles unless it is to be quick. It returns whether
	// the runtime is here and works; that it is not here is no fault.
	Check func(ctx context.Context, r *Report, quick bool) bool
}

const anyAdvice = "install one: a driver for your device, or one for the CPU (on Debian or Ubuntu: apt-get install " +
	"ocl-icd-libopencl1 pocl-opencl-icd); NVIDIA's driver and NVRTC; AMD's HIPRTC (libamdhip64-5); " +
	"Intel's driver (libze1 intel-opencl-icd)"

// runtimeReport is what a process that looks at one runtime answers.
type runtimeReport struct {
	Works    bool      `json:"works"`
	Devices  bool      `json:"devices"` // there is one, whether caching works for it or not
	Findings []Finding `json:"findings"`
}

// checkRuntimes looks at every runtime, each in a process of its own, and lets it
// compile a small program, store it and start it again.
func (r *Report) checkRuntimes(ctx context.Context, runtimes []Runtime, quick bool, p *terminal.Progress) {
	if !cli.HasRuntimes {
		r.Add("runtimes", Info, "", "%v", cli.ErrNoRuntimes)
		return
	}
	// With caches of their own drivers would not compile what they know.
	dir, err := os.MkdirTemp("", "kernstash-doctor-")
	if err != nil {
		r.Add("runtimes", Fail, "look at the directory for temporary files", "%v", err)
		return
	}
	defer os.RemoveAll(dir)
	var env []string
	for _, name := range cli.DriverCaches {
		env = append(env, name+"="+dir)
	}
	works, runs, wrong := false, false, false
	for _, rt := range runtimes {
		if !quick {
			p.Say("%s: compiling and storing a probe", rt.Title)
		}
		var of runtimeReport
		err := cli.AskSelf(ctx, []string{"doctor-runtime", "--runtime=" + rt.Name, fmt.Sprintf("--quick=%t", quick)}, nil, &of, env...)
		if err != nil {
			r.Add(rt.Title, Fail, "programs that use it may end like this: look for a newer driver or compiler, and report this to those who make it",
				"the process that looked at it ended: %v", err)
			wrong = true
		}
		for _, f := range of.Findings {
			r.Findings = append(r.Findings, f)
			wrong = wrong || f.Verdict == Fail
		}
		works = works || of.Works
		runs = runs || of.Devices
	}
	r.OK = r.OK && !wrong
	switch {
	case wrong || runs:
	case works:
		r.Add("devices", Fail, anyAdvice+". Building ahead of time needs none",
			"there is none: what is compiled here cannot run here")
	default:
		r.Add("devices", Fail, anyAdvice, "no runtime works: nothing can be compiled")
	}
}

// RunRuntime looks at one runtime, and answers into a file.
func RunRuntime(ctx context.Context, runtimes []Runtime, name, file string, quick bool) error {
	for _, rt := range runtimes {
		if rt.Name == name {
			var r Report
			works := rt.Check(ctx, &r, quick)
			return cli.Answer(file, runtimeReport{works, r.devices, r.Findings})
		}
	}
	return cli.Usagef("--runtime %s: there is none", name)
}

// AddIdentity tells what decides how a device or a library compiles, and whether that
// is known.
func (r *Report) AddIdentity(subject string, identity key.Device, err error, variables []key.Pair) bool {
	if err != nil {
		r.Add(subject, Fail, "its programs are compiled each time; report this with the driver's name and version",
			"what compiles for it cannot be told: %v", err)
		return false
	}
	for _, c := range identity.Compiler {
		r.Add(subject, Info, "", "compiler library %s, %s", c.Name, c.Value)
	}
	for _, v := range variables {
		r.Add(subject, Info, "", "obeys %s=%s, so that is part of every key", v.Name, v.Value)
	}
	return true
}

// AddProbe probes, and tells how that went.
func (r *Report) AddProbe(subject string, probe func(dir string, want machine.Origin) (time.Duration, error)) bool {
	cold, warm, err := probeTwice(probe)
	if err != nil {
		r.Add(subject, Fail, "run with KERNSTASH_TRACE=all to see where it goes wrong", "caching does not work: %v", err)
		return false
	}
	r.Add(subject, OK, "", "a program was compiled in %s, stored, and started from disk in %s", human.Time(cold), human.Time(warm))
	return true
}

// probeTwice compiles a program that nobody compiled before, and starts it again from
// disk, in a directory of its own.
func probeTwice(probe func(dir string, want machine.Origin) (time.Duration, error)) (cold, warm time.Duration, err error) {
	dir, err := os.MkdirTemp("", "kernstash-doctor-")
	if err != nil {
		return 0, 0, err
	}
	defer os.RemoveAll(dir)
	if cold, err = probe(dir, machine.FromCompiler); err == nil {
		warm, err = probe(dir, machine.FromDisk)
	}
	return cold, warm, err
}

// ProbeOptions are those of a cache in a directory. What a user set must not keep the
// probe out: that is told elsewhere.
func ProbeOptions(dir string) kernstash.Options {
	return kernstash.Options{Flags: map[string]string{
		"dir": dir, "disable": "0", "mode": "on", "persistent": "1", "layers": "", "max-size": "0", "min-build-time": "0",
		"min-device-image-size": "0", "max-device-image-size": "0", "close-timeout": "60s",
	}}
}

// CheckFrom wants an answer from a certain place.
func CheckFrom(s stats.Snapshot, want machine.Origin) error {
	if from := machine.From(s); from != want {
		return fmt.Errorf("the answer came from %q instead of %q%s", from, want, whyNot(s))
	}
	return nil
}

// ProbeDevice runs a program of the demonstration on a device.
func ProbeDevice[D any](ctx context.Context, open func(*kernstash.Cache, D) (*machine.Machine, error), d D) func(dir string, want machine.Origin) (time.Duration, error) {
	return func(dir string, want machine.Origin) (took time.Duration, err error) {
		cache, err := kernstash.Open(ProbeOptions(dir))
		if err != nil {
			return 0, err
		}
		m, err := open(cache, d)
		if err != nil {
			return 0, errors.Join(err, cache.Close())
		}
		defer func() { err = errors.Join(err, m.Close(), cache.Close()) }()
		took, wrong, err := machine.Run(ctx, programs.All()[0].Fresh(dir), m)
		switch {
		case err != nil:
			return 0, err
		case wrong != "":
			return 0, errors.New(wrong)
		}
		if err := CheckFrom(cache.Stats(), want); err != nil {
			return 0, err
		}
		if want == machine.FromCompiler {
			err = machine.AwaitStored(ctx, cache, stats.Snapshot{})
		}
		return took, err
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
