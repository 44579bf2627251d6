// Package demo measures what the cache is worth: programs in fresh processes, and
// unchanged applications.
package demo

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/kernstash/kernstash/cmd/kernstash/internal/cli"
	"github.com/kernstash/kernstash/cmd/kernstash/internal/machine"
	"github.com/kernstash/kernstash/cmd/kernstash/internal/runtimes"
	"github.com/kernstash/kernstash/cmd/kernstash/internal/terminal"
	"github.com/kernstash/kernstash/internal/settings"
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

// Run measures, and writes the report. The directory of the demonstration is kept if keep
// is set.
func Run(ctx context.Context, a *cli.App, o Options, keep bool) (err error) {
	names := runtimes.Names(machine.HasMachines)
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
		defer os.RemoveAll(o.work)
	}
	o.progress = a.Progress()
	report, err := o.all(ctx)
	o.progress.Done()
	if err != nil {
		return fmt.Errorf("demo: %w", err)
	}
	if err = a.Report(report, func() { a.Printf("%s", report.text(a.Terminal())) }); err == nil && !report.OK {
		return cli.ErrFound
	}
	return err
}

// all measures programs and applications; of the latter alone those that are
// named, where any are.
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
	r.Apps, r.NoApps, err = o.measureApps(ctx, apps)
	if r.Apps == nil {
		r.Apps = []application{}
	}
	if o.Apps != nil && r.NoApps != "" {
		return nil, errors.New(r.NoApps)
	}
	for _, a := range r.Apps {
		r.OK = r.OK && len(a.Problems) == 0
	}
	return r, err
}
