package demo

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
	"github.com/kernstash/kernstash/cmd/kernstash/internal/cli"
	"github.com/kernstash/kernstash/cmd/kernstash/internal/demo/programs"
	"github.com/kernstash/kernstash/cmd/kernstash/internal/machine"
	"github.com/kernstash/kernstash/cmd/kernstash/internal/runtimes"
	"github.com/kernstash/kernstash/gpu/tool"
	"github.com/kernstash/kernstash/worker"
)

// child is one process of the demonstration.
type child struct {
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
	From, MemoryFrom machine.Origin
	Memory           []time.Duration
}

// on does f on a machine whose cache is on or off.
func (c child) on(d tool.Device, stash bool, f func(*kernstash.Cache, *tool.Machine) error) error {
	cache, err := kernstash.Open(kernstash.Options{
		Dir: c.Root, ConfigFile: c.Settings, Flags: map[string]string{"disable": fmt.Sprint(!stash)}, Starter: worker.ForCache,
	})
	if err != nil {
		return err
	}
	m, err := d.Run(cache)
	if err != nil {
		return errors.Join(err, cache.Close())
	}
	return errors.Join(f(cache, m), m.Close(), cache.Close())
}

func (c child) run(ctx context.Context) (r childReport, err error) {
	rt, device, err := machine.Find(c.Runtime, c.Device)
	if err != nil {
		return r, err
	}
	r.Runtime, r.Device = rt.Name, device.Title
	if c.WarmUp { // what a compiler needs once in a process is done then
		err := c.on(device, false, func(_ *kernstash.Cache, m *tool.Machine) error {
			start := time.Now()
			_, _, err := machine.Run(ctx, programs.Warm(), m)
			r.WarmUp = time.Since(start)
			return err
		})
		if err != nil {
			return r, fmt.Errorf("start the compiler: %w", err)
		}
	}
	err = c.on(device, c.Stash, func(cache *kernstash.Cache, m *tool.Machine) error {
		for _, p := range programs.All() {
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
func (c child) measure(ctx context.Context, p programs.Program, m *tool.Machine, cache *kernstash.Cache) (got childProgram, err error) {
	before := cache.Stats()
	if got.Total, got.Wrong, err = machine.Run(ctx, p, m); err != nil {
		return got, err
	}
	got.From = machine.From(cache.Stats().Sub(before))
	if c.Stash && got.From == machine.FromCompiler {
		// Else the capture would be under way while the next program is
		// compiled, and make that look slower than it is.
		if err := machine.AwaitStored(ctx, cache, before); err != nil {
			return got, fmt.Errorf("demo %s: %w", p.Name, err)
		}
	}
	for range c.Memory {
		before := cache.Stats()
		took, wrong, err := machine.Run(ctx, p, m)
		if err != nil {
			return got, err
		}
		got.Memory = append(got.Memory, took)
		if from := machine.From(cache.Stats().Sub(before)); got.MemoryFrom == "" || from != machine.FromMemory {
			got.MemoryFrom = from
		}
		if got.Wrong == "" {
			got.Wrong = wrong
		}
	}
	return got, nil
}

// demoRoot is the cache of the demonstration, within its directory.
const demoRoot = "stash"

// measure runs the processes of the demonstration.
func (o *Options) measure(ctx context.Context) (*report, error) {
	file := filepath.Join(o.work, "settings.json")
	if err := os.WriteFile(file, []byte("{}\n"), 0o600); err != nil {
		return nil, err
	}
	at := 0
	step := func(what, driverCache string, c child) (r childReport, err error) {
		at++
		o.progress.Say("%d/%d %s", at, 2+2*o.Runs, what)
		dir := filepath.Join(o.work, driverCache)
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return r, err
		}
		c.Runtime, c.Device, c.Root, c.Settings = o.Runtime, o.Device, filepath.Join(o.work, demoRoot), file
		c.Report = filepath.Join(dir, "kernstash-demo.json")
		b, err := json.Marshal(c)
		if err != nil {
			return r, err
		}
		err = cli.SelfCall{Report: c.Report, Env: runtimes.Environ(os.Environ(), dir), Args: []string{"demo-child", string(b)}}.Run(ctx, &r)
		return r, err
	}
	cold, err := step("cold: compiling every program", "driver-cold", child{Stash: true, WarmUp: true})
	if err != nil {
		return nil, err
	}
	o.Runtime = cold.Runtime
	fill, err := step("driver: filling its own cache", "driver-filled", child{WarmUp: true})
	if err != nil {
		return nil, err
	}
	disk, driver := make([]childReport, o.Runs), make([]childReport, o.Runs)
	for i := range o.Runs {
		if disk[i], err = step("disk: a fresh process", fmt.Sprintf("driver-fresh-%d", i), child{Stash: true, Memory: 9}); err != nil {
			return nil, err
		}
		if driver[i], err = step("driver: a fresh process", "driver-filled", child{}); err != nil {
			return nil, err
		}
	}
	return newReport(cold, fill, disk, driver), nil
}

func median(d []time.Duration) time.Duration {
	if len(d) == 0 {
		return 0
	}
	d = slices.Sorted(slices.Values(d))
	return (d[(len(d)-1)/2] + d[len(d)/2]) / 2
}
