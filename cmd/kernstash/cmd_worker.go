package main

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/kernstash/kernstash/cmd/kernstash/internal/cli"
	"github.com/kernstash/kernstash/cmd/kernstash/internal/jobs"
	"github.com/kernstash/kernstash/cmd/kernstash/internal/runtimes"
	"github.com/kernstash/kernstash/stats"
	"github.com/kernstash/kernstash/worker"
)

func workerCommand(a *cli.App) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "worker",
		Short: "Build what applications launched and nobody captured",
		Long: `Some drivers (PoCL) make code only when a kernel is launched. What an unchanged
application launches is noted in the cache, and a worker builds it, when nobody
else wants the processor, so that the application's next start compiles nothing.

A worker is started by itself, once there is something to do, and ends when there
is nothing more (setting worker=auto). These commands are for those who want to
know, to wait, or to have it done at a time of their own (worker=off).` +
			exits("done", "it failed", "the command line makes no sense"),
		Example: `  kernstash worker status
  kernstash worker wait
  kernstash worker run --once`,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(workerStatusCommand(a), workerWaitCommand(a), workerStopCommand(a), workerRunCommand(a), workerBuildCommand(a))
	return cmd
}

func workerStatusCommand(a *cli.App) *cobra.Command {
	return &cobra.Command{
		Use:   "status",
		Short: "Say whether a worker runs, what waits for it, and what it did last",
		Long: `Say whether a worker runs for this cache, how many jobs wait, which ones were given
up, and what became of the last ones, with the reason of each that was not done.` +
			exits("said", "the cache cannot be looked at"),
		Example: `  kernstash worker status
  kernstash worker status --json`,
		RunE: a.OnCache(jobs.Status),
	}
}

func workerWaitCommand(a *cli.App) *cobra.Command {
	var most time.Duration
	var nice bool
	cmd := &cobra.Command{
		Use:   "wait",
		Short: "Wait until the worker has done what there is",
		Long: `Wait until no job is left, or until no worker runs: then say what is left. Where
jobs wait and no worker runs it starts one first, unless the setting worker is off;
'kernstash worker run --once' does the jobs itself. What is to be uploaded is a job,
too: it waits where the setting remote names none that answers, and no agent runs.

While somebody waits, builds have normal priority: one that began when nobody waited, and that
other programs keep from the processor, begins anew. With --nice they wait for others to finish.` +
			exits("no job is left", "some are left, and no worker runs; or the time is over"),
		Example: `  kernstash worker wait
  kernstash worker wait --timeout 5m --json
  kernstash worker wait --nice`,
		RunE: a.OnCache(func(ctx context.Context, c cli.Cache) error { return jobs.Wait(ctx, c, most, nice) }),
	}
	cmd.Flags().BoolVar(&nice, "nice", false, "build when nobody else wants the processor")
	cmd.Flags().DurationVar(&most, "timeout", 0, "wait no longer than this; 0 = as long as it takes")
	return cmd
}

func workerStopCommand(a *cli.App) *cobra.Command {
	most := 10 * time.Second
	cmd := &cobra.Command{
		Use:   "stop",
		Short: "Have the worker end; what it was doing stays to be done",
		Long: `Ask the worker to end, and wait until it has. The build that is under way is ended
too; its job stays, for the next worker. The next application that notes something
starts one, unless the setting worker says otherwise.` +
			exits("no worker runs", "it does not end in time"),
		Example: `  kernstash worker stop
  kernstash worker stop --timeout 1m`,
		RunE: a.OnCache(func(ctx context.Context, c cli.Cache) error { return jobs.Stop(ctx, c, most) }),
	}
	cmd.Flags().DurationVar(&most, "timeout", most, "wait no longer than this; 0 = as long as it takes")
	return cmd
}

func workerRunCommand(a *cli.App) *cobra.Command {
	var o worker.Options
	var quiet, rebuild bool
	cmd := &cobra.Command{
		Use:   "run",
		Short: "Be the worker",
		Long: `Do the jobs that wait in the cache, --jobs at a time, each in a process of its own at
idle priority, and wait some seconds for more. This is what applications start by
themselves; there is one worker for a cache.

With --once it ends when every job was tried once: for the epilog of a batch job, a
timer, or a container's last command. Where a worker runs already it waits for that
one first.

With --rebuild, what another driver or compiler built for a device that is here is
built anew, once no job waits: the entries first that save most time for their size,
the lately used ones before others. So after an update of a driver applications need not
compile. The old entries stay, until nobody has used them for long.` +
			exits("it ended: all was done, or will be later", "it could not work"),
		Example: `  kernstash worker run --once
  kernstash worker run --once --normal-priority --json
  kernstash worker run --once --rebuild --budget 10m`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			for name, d := range map[string]time.Duration{"idle": o.Idle, "limit": o.Limit, "budget": o.Budget} {
				if d < 0 {
					return cli.Usagef("--%s %v: it is negative", name, d)
				}
			}
			if err := checkJobs(o.Jobs); err != nil {
				return err
			}
			if !runtimes.Linked {
				return runtimes.ErrNone
			}
			worker.CloseInherited(3)
			if !o.NormalPriority {
				worker.YieldSession()
			}
			return a.OnCache(func(ctx context.Context, c cli.Cache) error {
				run, counts := jobs.RunOptions{Options: o, Quiet: quiet}, new(stats.Counters)
				if rebuild {
					r, err := jobs.Rebuilds(ctx, c, "", counts)
					if err != nil {
						return fmt.Errorf("worker: %w", err)
					}
					defer r.Close()
					run.Rebuild = r
				}
				return jobs.Run(ctx, c, run, counts)
			})(cmd, nil)
		},
	}
	flags := cmd.Flags()
	flags.BoolVar(&o.Once, "once", false, "end when every job was tried, instead of waiting for more")
	flags.DurationVar(&o.Idle, "idle", 3*time.Second, "end when there was nothing to do for so long")
	flags.DurationVar(&o.Limit, "limit", 10*time.Minute, "a build that takes longer is ended")
	flags.DurationVar(&o.Budget, "budget", time.Hour, "end when builds took so much processor time")
	flags.IntVarP(&o.Jobs, "jobs", "j", 1, "how many builds there are at once")
	flags.BoolVar(&o.NormalPriority, "normal-priority", false, "build at the priority of this process")
	flags.BoolVar(&rebuild, "rebuild", false, "build anew what an earlier driver or compiler built")
	flags.BoolVarP(&quiet, "quiet", "q", false, "say nothing")
	return cmd
}

func workerBuildCommand(a *cli.App) *cobra.Command {
	return &cobra.Command{
		Use:    "build",
		Short:  "Do one job; for 'worker run' to call",
		Hidden: true,
		RunE: func(*cobra.Command, []string) error {
			s, err := a.Settings()
			if err != nil {
				return err
			}
			return runtimes.BuildJob(cli.DiskOptions(s))
		},
	}
}
