package doctor

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/kernstash/kernstash"
	"github.com/kernstash/kernstash/cmd/kernstash/internal/cli"
	"github.com/kernstash/kernstash/cmd/kernstash/internal/demo/programs"
	"github.com/kernstash/kernstash/cmd/kernstash/internal/runtimes"
	"github.com/kernstash/kernstash/cmd/kernstash/internal/terminal"
	"github.com/kernstash/kernstash/gpu/tool"
	"github.com/kernstash/kernstash/internal/human"
	"github.com/kernstash/kernstash/reason"
	"github.com/kernstash/kernstash/stats"
)

// runtimeReport is what a process that looks at one runtime answers.
type runtimeReport struct {
	Works    bool           `json:"works"`
	Devices  bool           `json:"devices"` // there is one, whether caching works for it or not
	Findings []tool.Finding `json:"findings"`
}

// checkRuntimes looks at every runtime, each in a process of its own, and lets it
// compile a small program, store it and start it again.
func (r *Report) checkRuntimes(ctx context.Context, quick bool, p *terminal.Progress) {
	if !runtimes.Linked {
		r.Add("runtimes", tool.Info, "", "%v", runtimes.ErrNone)
		return
	}
	// With caches of their own drivers would not compile what they know.
	dir, err := os.MkdirTemp("", "kernstash-doctor-")
	if err != nil {
		r.Add("runtimes", tool.Fail, "look at the directory for temporary files", "%v", err)
		return
	}
	defer os.RemoveAll(dir)
	env := os.Environ()
	for _, name := range runtimes.Caches() {
		env = append(env, name+"="+dir)
	}
	works, runs, at := false, false, len(r.Findings)
	var advice []string
	for _, rt := range runtimes.All {
		if !quick {
			p.Say("%s: compiling and storing a probe", rt.Title)
		}
		if rt.Advice != "" {
			advice = append(advice, rt.Advice)
		}
		var of runtimeReport
		err := cli.AskPart(ctx, "doctor-runtime", runtimeRequest{rt.Name, quick}, env, nil, &of)
		if err != nil {
			r.Add(rt.Title, tool.Fail, "programs that use it may end like this: look for a newer driver or compiler, and report this to those who make it",
				"the process that looked at it ended: %v", err)
		}
		r.Findings = append(r.Findings, of.Findings...)
		works = works || of.Works
		runs = runs || of.Devices
	}
	failed := slices.ContainsFunc(r.Findings[at:], func(f tool.Finding) bool { return f.Verdict == tool.Fail })
	r.OK = r.OK && !failed
	anyAdvice := "install one: " + strings.Join(advice, "; ")
	switch {
	case failed || runs:
	case works:
		r.Add("devices", tool.Fail, anyAdvice+". Building ahead of time needs none",
			"there is none: what is compiled here cannot run here")
	default:
		r.Add("devices", tool.Fail, anyAdvice, "no runtime works: nothing can be compiled")
	}
}

// runtimeRequest asks a process for one runtime.
type runtimeRequest struct {
	Name  string
	Quick bool
}

// RunRuntime examines a runtime, and lets what compiles compile unless it is to be quick.
func RunRuntime(ctx context.Context, q runtimeRequest) (r runtimeReport, err error) {
	runtime := runtimes.Named(q.Name)
	if runtime == nil {
		return r, fmt.Errorf("no runtime is called %q", q.Name)
	}
	for _, s := range runtime.Examine() {
		if t := s.Target; t != nil {
			r.Devices = r.Devices || t.IsDevice
			works := addIdentity(&s, t) && !t.Bypassed
			if works && !q.Quick && (t.Run != nil || t.Compile != nil) {
				works = addProbe(ctx, &s, t)
			}
			r.Works = r.Works || works
		}
		r.Findings = append(r.Findings, s.Findings...)
	}
	return r, nil
}

// addIdentity tells what decides how a device or a library compiles, and whether that is known.
func addIdentity(s *tool.Subject, t *tool.Target) bool {
	if t.Err != nil {
		s.Add(tool.Fail, "its programs are compiled each time; report this with the driver's name and version",
			"what compiles for it cannot be told: %v", t.Err)
		return false
	}
	for _, c := range t.Identity.Compiler {
		s.Add(tool.Info, "", "compiler library %s, %s", c.Name, c.Value)
	}
	for _, v := range t.Variables {
		s.Add(tool.Info, "", "obeys %s=%s, so that is part of every key", v.Name, v.Value)
	}
	return true
}

// addProbe compiles a program that nobody compiled before, starts it again from disk, in a
// directory of its own, and tells how that went.
func addProbe(ctx context.Context, s *tool.Subject, t *tool.Target) bool {
	var cold, warm time.Duration
	dir, err := os.MkdirTemp("", "kernstash-doctor-")
	if err == nil {
		defer os.RemoveAll(dir)
		cold, err = probe(ctx, t, dir, programs.FromCompiler)
	}
	if err == nil {
		warm, err = probe(ctx, t, dir, programs.FromDisk)
	}
	if err != nil {
		s.Add(tool.Fail, "run with KERNSTASH_TRACE=all to see where it goes wrong", "caching does not work: %v", err)
		return false
	}
	s.Add(tool.OK, "", "a program was compiled in %s, stored, and started from disk in %s", human.Time(cold), human.Time(warm))
	return true
}

func probe(ctx context.Context, t *tool.Target, dir string, want programs.Origin) (took time.Duration, err error) {
	// What a user set must not keep the probe out: that is told elsewhere.
	cache, err := kernstash.Open(kernstash.Options{Flags: map[string]string{
		"dir": dir, "disable": "0", "mode": "on", "persistent": "1", "layers": "", "max-size": "0", "min-build-time": "0",
		"min-device-image-size": "0", "max-device-image-size": "0", "close-timeout": "60s",
	}})
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, cache.Close()) }()
	wrong := ""
	if t.Run == nil {
		start := time.Now()
		err = t.Compile(ctx, cache, dir)
		took = time.Since(start)
	} else {
		m, failed := t.Run(cache)
		if failed != nil {
			return 0, failed
		}
		defer func() { err = errors.Join(err, m.Close()) }()
		took, wrong, err = programs.All()[0].Fresh(dir).Run(ctx, m)
	}
	switch {
	case err != nil:
		return 0, err
	case wrong != "":
		return 0, errors.New(wrong)
	}
	counts := cache.Stats()
	if from := programs.From(counts); from != want {
		return 0, fmt.Errorf("the answer came from %q instead of %q%s", from, want, whyNot(counts))
	}
	if want == programs.FromCompiler {
		err = programs.AwaitStored(ctx, cache, stats.Snapshot{})
	}
	return took, err
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
