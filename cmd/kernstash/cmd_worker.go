package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/kernstash/kernstash"
	"github.com/kernstash/kernstash/internal/settings"
	"github.com/kernstash/kernstash/stats"
	"github.com/kernstash/kernstash/store"
	"github.com/kernstash/kernstash/store/disk"
	"github.com/kernstash/kernstash/worker"
)

func (a *app) workerCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "worker",
		Short: "Build what applications launched and nobody captured",
		Long: `Some drivers (PoCL) make code only when a kernel is launched. What an unchanged
application launches is noted in the cache, and a worker builds it, when nobody
else wants the processor, so that the application's next start compiles nothing.

A worker is started by itself, once there is something to do, and ends when there
is nothing more (setting worker=auto). These commands are for those who want to
know, to wait, or to have it done at a time of their own (worker=off).

EXIT STATUS
  0  done
  1  it failed
  2  the command line makes no sense`,
		Example: `  kernstash worker status
  kernstash worker wait
  kernstash worker run --once`,
		Args: noCommand,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(a.workerStatusCommand(), a.workerWaitCommand(), a.workerStopCommand(), a.workerRunCommand(), a.workerBuildCommand())
	for _, sub := range cmd.Commands() {
		sub.ValidArgsFunction = cobra.NoFileCompletions
		check := sub.Args
		sub.Args = func(cmd *cobra.Command, args []string) error {
			if err := check(cmd, args); err != nil {
				return &usageError{takesNone(cmd, args, err)}
			}
			return nil
		}
	}
	return cmd
}

func (a *app) workerStatusCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "status",
		Short: "Say whether a worker runs, what waits for it, and what it did last",
		Long: `Say whether a worker runs for this cache, how many jobs wait, which ones were given
up, and what became of the last ones, with the reason of each that was not done.

EXIT STATUS
  0  said
  1  the cache cannot be looked at`,
		Example: `  kernstash worker status
  kernstash worker status --json`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) (err error) {
			d, s, err := a.openDisk()
			if err != nil {
				return err
			}
			defer closeDisk(d, &err)
			st, err := worker.Ask(cmd.Context(), d)
			if err != nil {
				return err
			}
			return a.writeWorker(st, s)
		},
	}
}

func (a *app) workerWaitCommand() *cobra.Command {
	var most time.Duration
	cmd := &cobra.Command{
		Use:   "wait",
		Short: "Wait until the worker has done what there is",
		Long: `Wait until no job is left, or until no worker runs: then say what is left. Where
jobs wait and no worker runs it starts one first, unless the setting worker is off;
'kernstash worker run --once' does the jobs itself.

EXIT STATUS
  0  no job is left
  1  some are left, and no worker runs; or the time is over
  2  a flag makes no sense`,
		Example: `  kernstash worker wait
  kernstash worker wait --timeout 5m --json`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) (err error) {
			d, s, err := a.openDisk()
			if err != nil {
				return err
			}
			defer closeDisk(d, &err)
			ctx, cancel := withTimeout(cmd.Context(), most)
			defer cancel()
			p := a.newProgress()
			st, err := worker.Wait(ctx, d, startWorker(d, s), func(st worker.Status) { p.say("%s", describeWorker(st)) })
			p.done()
			if err != nil && !errors.Is(err, context.DeadlineExceeded) {
				return err
			}
			late := err != nil
			if err := a.writeWorker(st, s); err != nil {
				return err
			}
			if late || st.Waiting > 0 {
				return errFound
			}
			return nil
		},
	}
	cmd.Flags().DurationVar(&most, "timeout", 0, "wait no longer than this; 0 = as long as it takes")
	return cmd
}

// startWorker returns what starts a worker in a process of its own, nil where the
// settings want none.
func startWorker(d *disk.Store, s *settings.Settings) func() bool {
	if !hasRuntimes || s.Worker == settings.WorkerOff || !writable(s) {
		return nil
	}
	return func() bool {
		self, err := os.Executable()
		if err != nil {
			return false
		}
		o := worker.StartOptions{
			Jobs:    kernstash.Jobs{Store: d, Policy: settings.WorkerAuto, Settings: s.Variables("max-size", "threshold", "eviction")},
			Environ: os.Environ(), Command: self,
		}
		return worker.NewStarter(o).StartNow() == nil
	}
}

// writable says whether the settings let anybody write the cache.
func writable(s *settings.Settings) bool {
	return !s.Disable && s.Persistent && s.Mode != settings.ModeReadOnly
}

func (a *app) workerStopCommand() *cobra.Command {
	most := 10 * time.Second
	cmd := &cobra.Command{
		Use:   "stop",
		Short: "Have the worker end; what it was doing stays to be done",
		Long: `Ask the worker to end, and wait until it has. The build that is under way is ended
too; its job stays, for the next worker. The next application that notes something
starts one, unless the setting worker says otherwise.

EXIT STATUS
  0  no worker runs
  1  it does not end in time
  2  a flag makes no sense`,
		Example: `  kernstash worker stop
  kernstash worker stop --timeout 1m`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) (err error) {
			d, _, err := a.openDisk()
			if err != nil {
				return err
			}
			defer closeDisk(d, &err)
			ctx, cancel := withTimeout(cmd.Context(), most)
			defer cancel()
			was, err := worker.Stop(ctx, d)
			switch {
			case err != nil:
				return err
			case a.json:
				return a.writeJSON(struct {
					Stopped bool `json:"stopped"`
				}{was})
			case was:
				a.printf("the worker ended\n")
			default:
				a.printf("no worker runs\n")
			}
			return nil
		},
	}
	cmd.Flags().DurationVar(&most, "timeout", most, "wait no longer than this; 0 = as long as it takes")
	return cmd
}

func withTimeout(ctx context.Context, most time.Duration) (context.Context, context.CancelFunc) {
	if most <= 0 {
		return context.WithCancel(ctx)
	}
	return context.WithTimeout(ctx, most)
}

func (a *app) workerRunCommand() *cobra.Command {
	var o worker.Options
	var quiet, rebuild bool
	cmd := &cobra.Command{
		Use:   "run",
		Short: "Be the worker",
		Long: `Do the jobs that wait in the cache, one at a time, each in a process of its own at
idle priority, and wait some seconds for more. This is what applications start by
themselves; there is one worker for a cache.

With --once it ends when every job was tried once: for the epilog of a batch job, a
timer, or a container's last command. Where a worker runs already it waits for that
one first.

With --rebuild, what another driver or compiler built for an OpenCL device that is here
is built anew, once no job waits: the entries first that save most time for their size,
the lately used ones before others. So after an update of a driver applications need not
compile. The old entries stay, until nobody has used them for long.

EXIT STATUS
  0  it ended: all was done, or will be later
  1  it could not work
  2  a flag makes no sense`,
		Example: `  kernstash worker run --once
  kernstash worker run --once --normal-priority --json
  kernstash worker run --once --rebuild --budget 10m`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			for name, d := range map[string]time.Duration{"idle": o.Idle, "limit": o.Limit, "budget": o.Budget} {
				if d < 0 {
					return usagef("--%s %v: it is negative", name, d)
				}
			}
			return a.workerRun(cmd.Context(), o, quiet, rebuild)
		},
	}
	flags := cmd.Flags()
	flags.BoolVar(&o.Once, "once", false, "end when every job was tried, instead of waiting for more")
	flags.DurationVar(&o.Idle, "idle", 3*time.Second, "end when there was nothing to do for so long")
	flags.DurationVar(&o.Limit, "limit", 10*time.Minute, "a build that takes longer is ended")
	flags.DurationVar(&o.Budget, "budget", time.Hour, "end when builds took so much processor time")
	flags.BoolVar(&o.NormalPriority, "normal-priority", false, "build at the priority of this process")
	flags.BoolVar(&rebuild, "rebuild", false, "build anew what an earlier driver or compiler built")
	flags.BoolVarP(&quiet, "quiet", "q", false, "say nothing")
	return cmd
}

func (a *app) workerRun(ctx context.Context, o worker.Options, quiet, rebuild bool) (err error) {
	if !hasRuntimes {
		return errNoRuntimes
	}
	worker.CloseInherited(3)
	d, s, err := a.openDisk()
	if err != nil {
		return err
	}
	defer closeDisk(d, &err)
	if !writable(s) {
		return fmt.Errorf("worker: the settings keep the cache from being written: disable=%v, persistent=%v, mode=%s", s.Disable, s.Persistent, s.Mode)
	}
	self, err := os.Executable()
	if err != nil {
		return err
	}
	o.Store, o.MaxAge = d, s.Threshold
	o.Command = worker.BuilderCommand(self, d, []string{fmt.Sprint("max-size=", s.MaxSize), "eviction=" + s.Eviction})
	counts := new(stats.Counters)
	o.Recorder = counts
	var kept stats.Snapshot
	o.Keep = func(held *disk.Store) {
		now := counts.Snapshot()
		_ = held.AddStats(now.Sub(kept))
		kept = now
	}
	if rebuild {
		r, err := newRebuilds(ctx, d, counts)
		if err != nil {
			return err
		}
		defer r.Close()
		o.Refill = r.Next
	}
	p := a.newProgress()
	if quiet {
		p = nil
	}
	building := ""
	o.Progress = func(st worker.Status) {
		if st.Building != building {
			building = st.Building
			p.say("%s", describeWorker(st))
		}
	}
	st, err := worker.Run(ctx, o)
	for errors.Is(err, store.ErrLocked) && o.Once {
		p.say("waiting for the worker that runs")
		if _, err = worker.Wait(ctx, d, nil, nil); err == nil {
			st, err = worker.Run(ctx, o)
		}
	}
	p.done()
	switch {
	case errors.Is(err, store.ErrLocked):
		if !quiet {
			a.printf("a worker runs already\n")
		}
		return nil
	case err != nil:
		return fmt.Errorf("worker: %w", err)
	case quiet:
		return nil
	}
	st.Running = false
	st.Last = slices.DeleteFunc(st.Last, func(e worker.Ended) bool { return e.At.Before(st.Started) })
	st.GivenUp = nil // those of this run are among the last
	return a.writeWorker(st, s)
}

func (a *app) workerBuildCommand() *cobra.Command {
	return &cobra.Command{
		Use:    "build",
		Short:  "Do one job; for 'worker run' to call",
		Hidden: true,
		Args:   cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			s, err := a.settings()
			if err != nil {
				return err
			}
			return buildJob(diskOptions(s))
		},
	}
}

// describeWorker is a line about a worker that works.
func describeWorker(st worker.Status) string {
	switch {
	case st.Building != "":
		return fmt.Sprintf("building %s, %s", st.Building, plural(int64(st.Waiting), "job"))
	case st.Running:
		return fmt.Sprintf("a worker runs, %s", plural(int64(st.Waiting), "job"))
	}
	return fmt.Sprintf("no worker runs, %s", plural(int64(st.Waiting), "job"))
}

func (a *app) writeWorker(st worker.Status, s *settings.Settings) error {
	if a.json {
		return a.writeJSON(st)
	}
	switch {
	case st.Running && st.Started.IsZero(): // it says so a moment after it has begun
		a.printf("a worker runs\n")
	case st.Running && st.Building != "":
		a.printf("a worker runs, since %s, and builds %s\n", st.Started.Local().Format(time.DateTime), st.Building)
	case st.Running:
		a.printf("a worker runs, since %s\n", st.Started.Local().Format(time.DateTime))
	case st.Started.IsZero():
		a.printf("no worker runs, and none has\n")
	case st.End == "":
		a.printf("no worker runs; the last one was ended\n")
	default:
		a.printf("no worker runs; the last one ended: %s\n", printable(st.End, false))
	}
	a.printf("%s waiting", plural(int64(st.Waiting), "job"))
	if !st.Started.IsZero() {
		a.printf("; %d done, %d dropped, %d not possible here, %s of processor time", st.Done, st.Refused, st.Kept, st.CPU.Round(time.Millisecond))
	}
	a.printf(", in %s\n", printable(s.Dir, false))
	if len(st.GivenUp) > 0 {
		a.printf("given up, for two weeks or until 'kernstash clear':\n")
	}
	for _, g := range st.GivenUp {
		a.printf("  %s  %-9s %s", clock(g.At, time.Now()), "given up", g.Job)
		if g.Reason != "" {
			a.printf(": %s", strings.TrimSpace(printable(g.Reason, false)))
		}
		a.printf("\n")
	}
	if len(st.GivenUp) > 0 && len(st.Last) > 0 {
		a.printf("the last ones:\n")
	}
	for _, e := range st.Last {
		a.printf("  %s  %-9s %s", clock(e.At, time.Now()), e.State, e.Job)
		if e.Reason != "" {
			a.printf(": %s", strings.TrimSpace(printable(e.Reason, false)))
		}
		a.printf("\n")
	}
	return nil
}

// clock is a time of today as that, and any other with its date.
func clock(at, now time.Time) string {
	at, now = at.Local(), now.Local()
	if at.Year() == now.Year() && at.YearDay() == now.YearDay() {
		return at.Format(time.TimeOnly)
	}
	return at.Format(time.DateTime)
}
