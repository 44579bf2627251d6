// Package demo measures what the cache is worth, in fresh processes and unchanged applications.
package demo

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/kernstash/kernstash"
	"github.com/kernstash/kernstash/cmd/kernstash/internal/cli"
	"github.com/kernstash/kernstash/cmd/kernstash/internal/demo/programs"
	"github.com/kernstash/kernstash/cmd/kernstash/internal/runtimes"
	"github.com/kernstash/kernstash/cmd/kernstash/internal/terminal"
	"github.com/kernstash/kernstash/gpu/tool"
	"github.com/kernstash/kernstash/internal/settings"
	"github.com/kernstash/kernstash/worker"
)

// Options are what the demonstration needs.
type Options struct {
	Runtime  string // "": the first that has a device
	Device   string
	Apps     [][]string // nil: those that are here
	Runs     int
	work     string
	progress *terminal.Progress
}

// Run measures, and writes the report. If keep is set it leaves its directory there.
func Run(ctx context.Context, a *cli.App, o Options, keep bool) (err error) {
	names := runtimes.Names(HasDevices)
	switch {
	case !runtimes.Linked:
		return runtimes.ErrNone
	case o.Runtime != "" && !slices.Contains(names, o.Runtime):
		return cli.Usagef("--runtime %s: want one of %s", o.Runtime, strings.Join(names, ", "))
	case o.Runs < 1:
		return cli.Usagef("--runs %d: want 1 or more", o.Runs)
	case settings.SwitchedOff(os.Getenv("KERNSTASH_DISABLE")):
		return errors.New("demo: KERNSTASH_DISABLE switches the cache off, so there is nothing to show; unset it")
	}
	if o.work, err = os.MkdirTemp("", "kernstash-demo-"); err != nil {
		return fmt.Errorf("demo: %w", err)
	}
	if keep {
		defer fmt.Fprintf(a.Err, "kept: %s (kernstash ls --dir %s)\n", o.work, filepath.Join(o.work, demoRoot))
	} else {
		defer o.remove()
	}
	o.progress = a.Progress()
	report, err := o.all(ctx)
	o.progress.Done()
	if err != nil {
		return fmt.Errorf("demo: %w", err)
	}
	return a.Report(report, report.OK, func() { a.Printf("%s", report.text(a.Terminal())) })
}

// remove removes the directory in which it worked. A worker that has just begun may write there until it sees that its
// cache is gone.
func (o *Options) remove() {
	for range 50 {
		if os.RemoveAll(o.work) == nil {
			return
		}
		time.Sleep(100 * time.Millisecond)
	}
}

// all measures programs and applications, or the applications that are named alone.
func (o *Options) all(ctx context.Context) (r *report, err error) {
	apps := o.Apps
	if apps == nil {
		if r, err = o.measure(ctx); err != nil {
			return nil, err
		}
		apps = found(r.runtime.Applications)
	} else {
		r = &report{OK: true, Programs: []row{}}
	}
	r.Apps = []application{} // of none, too: null is no list in JSON
	return r, o.measureApps(ctx, apps, r)
}

// child is one process of the demonstration.
type child struct {
	Runtime, Device string
	Root, Settings  string
	Stash           bool // kernstash is on
	WarmUp          bool // start the compiler before the clock does
	Memory          int  // ask so often again
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
	From, MemoryFrom programs.Origin
	Memory           []time.Duration
}

// findDevice returns the device that choice means, the first one if it is empty, of the
// runtime of a name; if that is empty, of the first of all runtimes that has a device.
func findDevice(runtime, choice string) (rt *tool.Runtime, d tool.Device, failed error) {
	for _, rt := range runtimes.All {
		if !HasDevices(rt) || runtime != "" && runtime != rt.Name {
			continue
		}
		devices, err := rt.Devices()
		if err != nil {
			failed = errors.Join(failed, err)
			continue
		}
		d, err := runtimes.Pick(devices, choice)
		return rt, d, err
	}
	if runtime == "" {
		failed = fmt.Errorf("no runtime has a device:\n%w", failed)
	}
	return nil, d, failed
}

// HasDevices reports whether programs run on devices of a runtime.
func HasDevices(rt *tool.Runtime) bool { return rt.Devices != nil }

// on does f on a machine whose cache is on or off.
func (c *child) on(d tool.Device, stash bool, f func(*kernstash.Cache, *tool.Machine) error) error {
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

// RunChild is a process of the demonstration.
func RunChild(ctx context.Context, c child) (r childReport, err error) {
	rt, device, err := findDevice(c.Runtime, c.Device)
	if err != nil {
		return r, err
	}
	r.Runtime, r.Device = rt.Name, device.Title
	if c.WarmUp { // what a compiler needs once in a process is done then
		err = c.on(device, false, func(_ *kernstash.Cache, m *tool.Machine) error {
			start := time.Now()
			_, _, err := programs.Warm().Run(ctx, m)
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
func (c *child) measure(ctx context.Context, p programs.Program, m *tool.Machine, cache *kernstash.Cache) (got childProgram, err error) {
	for i := range 1 + c.Memory {
		before := cache.Stats()
		took, wrong, err := p.Run(ctx, m)
		if err != nil {
			return got, err
		}
		from := programs.From(cache.Stats().Sub(before))
		got.Wrong = cmp.Or(got.Wrong, wrong)
		if i > 0 {
			got.Memory = append(got.Memory, took)
			if got.MemoryFrom == "" || from != programs.FromMemory {
				got.MemoryFrom = from
			}
			continue
		}
		got.Total, got.From = took, from
		if c.Stash && from == programs.FromCompiler {
			// Else the capture would be under way while the next program is
			// compiled, and make that look slower than it is.
			if err := programs.AwaitStored(ctx, cache, before); err != nil {
				return got, fmt.Errorf("demo %s: %w", p.Name, err)
			}
		}
	}
	return got, nil
}

// demoRoot is the cache of the demonstration, within its directory.
const demoRoot = "stash"

// measure runs the processes of the demonstration.
func (o *Options) measure(ctx context.Context) (*report, error) {
	settings := filepath.Join(o.work, "settings.json")
	if err := os.WriteFile(settings, []byte("{}\n"), 0o600); err != nil {
		return nil, err
	}
	at := 0
	var failed error // of the first step that failed: those that follow do nothing
	step := func(what, driverCache string, c child) (r childReport) {
		if failed != nil {
			return r
		}
		at++
		o.progress.Say("%d/%d %s", at, 2+2*o.Runs, what)
		dir := filepath.Join(o.work, driverCache)
		c.Runtime, c.Device, c.Root, c.Settings = o.Runtime, o.Device, filepath.Join(o.work, demoRoot), settings
		if failed = os.MkdirAll(dir, 0o700); failed == nil {
			failed = cli.AskPart(ctx, "demo-child", c, runtimes.Environ(os.Environ(), dir), nil, &r)
		}
		return r
	}
	cold := step("cold: compiling every program", "driver-cold", child{Stash: true, WarmUp: true})
	o.Runtime = cold.Runtime
	fill := step("driver: filling its own cache", "driver-filled", child{WarmUp: true})
	var disk, driver []childReport
	for i := range o.Runs {
		disk = append(disk, step("disk: a fresh process", fmt.Sprintf("driver-fresh-%d", i), child{Stash: true, Memory: 9}))
		driver = append(driver, step("driver: a fresh process", "driver-filled", child{}))
	}
	if failed != nil {
		return nil, failed
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
