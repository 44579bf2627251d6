package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/kernstash/kernstash/internal/settings"
)

func (a *app) demoCommand() *cobra.Command {
	o := demoOptions{runs: 9}
	var keep bool
	var apps []string
	cmd := &cobra.Command{
		Use:   "demo",
		Short: "Compile real kernels in one process and start warm in the next",
		Long: `Build and run six kernels, and check the numbers that they compute, in processes
of their own:

  cold    kernstash and the driver's own cache are both empty: it compiles
  driver  kernstash off, the driver's own cache filled by another process
  disk    with kernstash filled by the cold process, the driver's cache EMPTY
  memory  the same program asked for again in that process

The time of each is from the start of the build to the first result on the
host; driver and disk are medians over several processes (--runs).

Then, with OpenCL, where the libraries of 'kernstash run' are there, applications that know
nothing of kernstash: the example of the sources, which 'make demo' compiles, and
clpeak, if it is installed. Each runs alone, alone again, and under 'kernstash run'
cold and warm. With --app another command is measured so, and nothing else.

Without --runtime OpenCL is taken if it has a device, else the first runtime that
has one. The cache of the demonstration is a directory of its own, which is removed
in the end unless --keep is given. Settings files and KERNSTASH_ variables have no
part in it.

EXIT STATUS
  0  every number was right, and no second start compiled
  1  a number was wrong, a second start compiled, or there is no device`,
		Example: `  kernstash demo
  kernstash demo --device pthread
  kernstash demo --runtime cuda
  kernstash demo --app './solver input.dat'
  kernstash demo --json`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			for _, app := range apps {
				words := strings.Fields(app)
				if len(words) == 0 {
					return usagef("--app: which command?")
				}
				if path, err := exec.LookPath(words[0]); err == nil {
					words[0], _ = filepath.Abs(path)
				}
				o.apps = append(o.apps, words)
			}
			return a.demo(cmd.Context(), o, keep)
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&o.runtime, "runtime", "", "runtime: "+strings.Join(machineNames, ", "))
	_ = cmd.RegisterFlagCompletionFunc("runtime", cobra.FixedCompletions(machineNames, cobra.ShellCompDirectiveNoFileComp))
	flags.StringVar(&o.device, "device", "", "device: its number, or a part of 'platform/device'")
	flags.IntVar(&o.runs, "runs", o.runs, "processes that each warm time is the median of")
	flags.StringArrayVar(&apps, "app", nil, "measure this command instead, under 'kernstash run' (words with spaces between)")
	flags.BoolVar(&keep, "keep", false, "keep the directory of the demonstration, and say where it is")
	return cmd
}

// demoOptions are what the demonstration needs.
type demoOptions struct {
	runtime  string // "": the first that has a device
	device   string
	apps     [][]string // nil: those that are here
	runs     int
	work     string
	progress *progress
}

func (a *app) demo(ctx context.Context, o demoOptions, keep bool) (err error) {
	if err := checkRuntime(o.runtime); err != nil {
		return err
	}
	switch {
	case o.runs < 1:
		return usagef("--runs %d: want 1 or more", o.runs)
	case !hasRuntimes:
		return errNoRuntimes
	case settings.SwitchedOff(os.Getenv("KERNSTASH_DISABLE")):
		return errors.New("demo: KERNSTASH_DISABLE switches the cache off, so there is nothing to show; unset it")
	}
	if o.work, err = os.MkdirTemp("", "kernstash-demo-"); err != nil {
		return fmt.Errorf("demo: %w", err)
	}
	if keep {
		defer fmt.Fprintf(a.err, "kept: %s (kernstash ls --dir %s)\n", o.work, filepath.Join(o.work, demoRoot))
	} else {
		defer os.RemoveAll(o.work)
	}
	o.progress = a.newProgress()
	report, err := o.all(ctx)
	o.progress.done()
	if err != nil {
		return fmt.Errorf("demo: %w", err)
	}
	if a.json {
		err = a.writeJSON(report)
	} else {
		err = report.write(a.out, a.terminal())
	}
	if err == nil && !report.OK {
		return errFound
	}
	return err
}

// all measures programs and applications; of the latter alone those that are
// named, where any are.
func (o *demoOptions) all(ctx context.Context) (report *demoReport, err error) {
	apps := o.apps
	if apps == nil {
		if report, err = o.measure(ctx); err != nil {
			return nil, err
		}
		if report.Runtime == buildOpenCL {
			apps = knownApps()
		}
	} else {
		report = &demoReport{OK: true, Programs: []demoRow{}}
	}
	report.Apps, report.NoApps, err = o.measureApps(ctx, apps)
	if report.Apps == nil {
		report.Apps = []demoApp{}
	}
	if o.apps != nil && report.NoApps != "" {
		return nil, errors.New(report.NoApps)
	}
	for _, a := range report.Apps {
		report.OK = report.OK && len(a.Problems) == 0
	}
	return report, err
}

// errNoRuntimes is what commands say that need what -tags nogpu left out.
var errNoRuntimes = errors.New("this kernstash was built without runtimes (-tags nogpu): " +
	"build it without that tag to compile and run programs")

// demoChildCommand is how the demonstration runs itself in a fresh process.
func (a *app) demoChildCommand() *cobra.Command {
	return &cobra.Command{
		Use:    "demo-child",
		Hidden: true,
		Args:   cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			var c demoChild
			if err := json.Unmarshal([]byte(args[0]), &c); err != nil {
				return err
			}
			report, err := c.run(cmd.Context())
			if err != nil {
				return err
			}
			return answerTo(c.Report, report)
		},
	}
}
