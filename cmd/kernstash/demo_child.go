package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/kernstash/kernstash"
	"github.com/kernstash/kernstash/internal/demo"
	"github.com/kernstash/kernstash/stats"
)

// demoChild is one process of the demonstration.
type demoChild struct {
	runtime, device      string
	root, config, report string // report: where the answer goes
	stash                bool   // go through kernstash
	warmUp               bool   // start the compiler before the clock does
	memory               int    // ask so often again
}

// childReport is what a process answers. Times are nanoseconds.
type childReport struct {
	Runtime  string         `json:"runtime"`
	Device   string         `json:"device"`
	WarmUp   time.Duration  `json:"warm_up"`
	Programs []childProgram `json:"programs"`
}

type childProgram struct {
	Name       string          `json:"name"`
	Build      time.Duration   `json:"build"`
	Total      time.Duration   `json:"total"`
	Wrong      string          `json:"wrong,omitempty"`
	From       origin          `json:"from,omitempty"` // of the first answer
	Memory     []time.Duration `json:"memory,omitempty"`
	MemoryFrom origin          `json:"memory_from,omitempty"`
}

func (c demoChild) run(ctx context.Context, programs []demo.Program) (r childReport, err error) {
	rt, device, err := openDemoDevice(c.runtime, c.device)
	if err != nil {
		return r, err
	}
	r.Runtime, r.Device = rt.name, device.title()
	bare, err := device.bare()
	if err != nil {
		return r, err
	}
	defer func() { err = errors.Join(err, bare.close()) }()
	if c.warmUp {
		if r.WarmUp, err = startCompiler(ctx, bare); err != nil {
			return r, err
		}
	}
	if !c.stash {
		for _, p := range programs {
			got, err := runOnce(ctx, p, bare)
			if err != nil {
				return r, err
			}
			r.Programs = append(r.Programs, got)
		}
		return r, nil
	}
	cache, err := kernstash.Open(kernstash.Options{Dir: c.root, ConfigFile: c.config})
	if err != nil {
		return r, err
	}
	defer func() { err = errors.Join(err, cache.Close()) }()
	m, err := device.cached(cache)
	if err != nil {
		return r, err
	}
	defer func() { err = errors.Join(err, m.close()) }()
	for _, p := range programs {
		got, err := c.measure(ctx, p, m, cache)
		if err != nil {
			return r, err
		}
		r.Programs = append(r.Programs, got)
	}
	return r, nil
}

// measure runs a program, and again as often as is wanted.
func (c demoChild) measure(ctx context.Context, p demo.Program, m demoMachine, cache *kernstash.Cache) (childProgram, error) {
	before := cache.Stats()
	got, err := runOnce(ctx, p, m)
	if err != nil {
		return got, err
	}
	got.From = answeredFrom(cache.Stats().Sub(before))
	if got.From == fromCompiler {
		// Else the capture would be under way while the next program is
		// compiled, and make that look slower than it is.
		if err := awaitCapture(ctx, cache, before); err != nil {
			return got, fmt.Errorf("demo %s: %w", p.Name, err)
		}
	}
	for range c.memory {
		before := cache.Stats()
		again, err := runOnce(ctx, p, m)
		if err != nil {
			return got, err
		}
		got.Memory = append(got.Memory, again.Total)
		got.MemoryFrom = worse(got.MemoryFrom, answeredFrom(cache.Stats().Sub(before)))
		if got.Wrong == "" {
			got.Wrong = again.Wrong
		}
	}
	return got, nil
}

// runOnce runs a program and checks it. A wrong number is not an error: it is
// what the demonstration reports.
func runOnce(ctx context.Context, p demo.Program, m demo.Machine) (childProgram, error) {
	got, err := p.Run(ctx, m)
	r := childProgram{Name: p.Name, Build: got.Build, Total: got.Total}
	if errors.Is(err, demo.ErrWrong) {
		r.Wrong = err.Error()
		err = nil
	}
	return r, err
}

// answeredFrom reads from what was counted where an answer came from.
func answeredFrom(s stats.Snapshot) origin {
	switch {
	case s[stats.Builds] > 0:
		return fromCompiler
	case s[stats.DiskHits] > 0:
		return fromDisk
	case s[stats.MemoryHits] > 0:
		return fromMemory
	}
	return ""
}

// captureWait bounds the wait for a capture: PoCL compiles each kernel again
// for it, which takes as long as the build did.
const captureWait = time.Minute

// awaitCapture waits until what was built since before is captured and stored,
// where the driver makes it wait for a launch, and given up where not.
func awaitCapture(ctx context.Context, cache *kernstash.Cache, before stats.Snapshot) error {
	for deadline := time.Now().Add(captureWait); time.Now().Before(deadline); {
		s := cache.Stats().Sub(before)
		if s[stats.DiskPuts]+s[stats.DiskPutsBettered]+s[stats.DiskPutsExisting] > 0 {
			return nil
		}
		if n := s[stats.CapturesDropped] + s[stats.DiskPutsDropped] + s[stats.DiskPutFailures]; n > 0 {
			return errors.New("compiled, but it could not be stored")
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(10 * time.Millisecond):
		}
	}
	return fmt.Errorf("compiled, but it was not stored within %v", captureWait)
}

// startCompiler builds and launches a kernel that is none of ours, so that what a
// compiler needs once in a process is behind us.
func startCompiler(ctx context.Context, m demoMachine) (time.Duration, error) {
	start := time.Now()
	if _, err := runOnce(ctx, demo.Warm(), m); err != nil {
		return 0, fmt.Errorf("start the compiler: %w", err)
	}
	return time.Since(start), nil
}
