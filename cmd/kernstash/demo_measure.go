package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/kernstash/kernstash"
	"github.com/kernstash/kernstash/internal/demo"
	"github.com/kernstash/kernstash/worker"
)

// demoChild is one process of the demonstration.
type demoChild struct {
	Runtime, Device string
	Root, Settings  string
	Report          string // where the answer goes
	Stash           bool   // kernstash is on
	WarmUp          bool   // start the compiler before the clock does
	Memory          int    // ask so often again
}

// childReport is what a process answers.
type childReport struct {
	Runtime, Device string
	WarmUp          time.Duration
	Programs        []childProgram
}

type childProgram struct {
	Total            time.Duration
	Wrong            string
	From, MemoryFrom origin
	Memory           []time.Duration
}

// on does f on a machine whose cache is on or off.
func (c demoChild) on(d machineDevice, stash bool, f func(*kernstash.Cache, *machine) error) error {
	cache, err := kernstash.Open(kernstash.Options{
		Dir: c.Root, ConfigFile: c.Settings, Flags: map[string]string{"disable": fmt.Sprint(!stash)}, Starter: worker.ForCache,
	})
	if err != nil {
		return err
	}
	m, err := d.open(cache)
	if err != nil {
		return errors.Join(err, cache.Close())
	}
	return errors.Join(f(cache, m), m.close(), cache.Close())
}

func (c demoChild) run(ctx context.Context) (r childReport, err error) {
	rt, device, err := findDevice(c.Runtime, c.Device)
	if err != nil {
		return r, err
	}
	r.Runtime, r.Device = rt.name, device.title
	if c.WarmUp { // what a compiler needs once in a process is done then
		err := c.on(device, false, func(_ *kernstash.Cache, m *machine) error {
			start := time.Now()
			_, err := runOnce(ctx, demo.Warm(), m)
			r.WarmUp = time.Since(start)
			return err
		})
		if err != nil {
			return r, fmt.Errorf("start the compiler: %w", err)
		}
	}
	err = c.on(device, c.Stash, func(cache *kernstash.Cache, m *machine) error {
		for _, p := range demo.All() {
			got, err := c.measure(ctx, p, m, cache)
			if err != nil {
				return err
			}
			r.Programs = append(r.Programs, got)
		}
		return nil
	})
	return r, err
}

// measure runs a program, and again as often as is wanted.
func (c demoChild) measure(ctx context.Context, p demo.Program, m *machine, cache *kernstash.Cache) (childProgram, error) {
	before := cache.Stats()
	got, err := runOnce(ctx, p, m)
	if err != nil {
		return got, err
	}
	got.From = answeredFrom(cache.Stats().Sub(before))
	if c.Stash && got.From == fromCompiler {
		// Else the capture would be under way while the next program is
		// compiled, and make that look slower than it is.
		if err := awaitCapture(ctx, cache, before); err != nil {
			return got, fmt.Errorf("demo %s: %w", p.Name, err)
		}
	}
	for range c.Memory {
		before := cache.Stats()
		again, err := runOnce(ctx, p, m)
		if err != nil {
			return got, err
		}
		got.Memory = append(got.Memory, again.Total)
		if from := answeredFrom(cache.Stats().Sub(before)); got.MemoryFrom == "" || from != fromMemory {
			got.MemoryFrom = from
		}
		if got.Wrong == "" {
			got.Wrong = again.Wrong
		}
	}
	return got, nil
}

// runOnce runs a program and checks it. A wrong number is not an error: it is
// what the demonstration reports.
func runOnce(ctx context.Context, p demo.Program, m demo.Machine) (r childProgram, err error) {
	got, err := p.Run(ctx, m)
	r.Total = got.Total
	if errors.Is(err, demo.ErrWrong) {
		r.Wrong, err = err.Error(), nil
	}
	return r, err
}

// demoRoot is the cache of the demonstration, within its directory.
const demoRoot = "stash"

// measure runs the processes of the demonstration.
func (o *demoOptions) measure(ctx context.Context) (*demoReport, error) {
	file := filepath.Join(o.work, "settings.json")
	if err := os.WriteFile(file, []byte("{}\n"), 0o600); err != nil {
		return nil, err
	}
	at := 0
	step := func(what, driverCache string, c demoChild) (r childReport, err error) {
		at++
		o.progress.say("%d/%d %s", at, 2+2*o.runs, what)
		dir := filepath.Join(o.work, driverCache)
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return r, err
		}
		c.Runtime, c.Device, c.Root, c.Settings = o.runtime, o.device, filepath.Join(o.work, demoRoot), file
		c.Report = filepath.Join(dir, "kernstash-demo.json")
		b, err := json.Marshal(c)
		if err != nil {
			return r, err
		}
		err = selfCall{report: c.Report, env: childEnviron(os.Environ(), dir), args: []string{"demo-child", string(b)}}.run(ctx, &r)
		return r, err
	}
	cold, err := step("cold: compiling every program", "driver-cold", demoChild{Stash: true, WarmUp: true})
	if err != nil {
		return nil, err
	}
	o.runtime = cold.Runtime
	fill, err := step("driver: filling its own cache", "driver-filled", demoChild{WarmUp: true})
	if err != nil {
		return nil, err
	}
	disk, driver := make([]childReport, o.runs), make([]childReport, o.runs)
	for i := range o.runs {
		if disk[i], err = step("disk: a fresh process", fmt.Sprintf("driver-fresh-%d", i), demoChild{Stash: true, Memory: 9}); err != nil {
			return nil, err
		}
		if driver[i], err = step("driver: a fresh process", "driver-filled", demoChild{}); err != nil {
			return nil, err
		}
	}
	return newDemoReport(cold, fill, disk, driver), nil
}

func median(d []time.Duration) time.Duration {
	if len(d) == 0 {
		return 0
	}
	d = slices.Sorted(slices.Values(d))
	return (d[(len(d)-1)/2] + d[len(d)/2]) / 2
}
