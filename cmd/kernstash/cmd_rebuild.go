package main

import (
	"context"
	"time"

	"github.com/spf13/cobra"

	"github.com/kernstash/kernstash/cmd/kernstash/internal/cli"
	"github.com/kernstash/kernstash/cmd/kernstash/internal/rebuild"
	"github.com/kernstash/kernstash/cmd/kernstash/internal/runtimes"
	"github.com/kernstash/kernstash/worker"
)

func rebuildCommand(a *cli.App) *cobra.Command {
	var o worker.Options
	var plan, nice, quiet bool
	var app string
	cmd := &cobra.Command{
		Use:   "rebuild",
		Short: "Build anew what an earlier driver built, before applications ask for it",
		Long: `After an update of a driver or a compiler every program has a new key, and the next
start of each application compiles. Build these programs now, from their recorded
sources and header files, for the devices that are here: what saves most time for its
size comes first, and what was used lately before the rest. Each is built by a process
of its own, which may crash or hang: --limit ends it; --jobs says how many there are at
once. What is interrupted goes on with the next call. The earlier entries stay until
nobody has used them for long. --app takes the programs of one application alone. What
was given up, now or by an earlier call, is named with the reason.

With --plan only say what would be built, and how long that took the earlier driver.

Built for are the devices of: ` + runtimes.BuiltTitles() + `. What other runtimes compile, and
what needs header files by paths that nobody noted, the application compiles, as ever.` +
			exits("what can be built was built, or the plan is said", "it could not work"),
		Example: `  kernstash rebuild --plan
  kernstash rebuild --jobs 4
  kernstash rebuild --app hashcat
  kernstash rebuild --nice --budget 10m`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if o.Limit < 0 || o.Budget < 0 {
				return cli.Usagef("--limit %v, --budget %v: one is negative", o.Limit, o.Budget)
			}
			if err := checkJobs(o.Jobs); err != nil {
				return err
			}
			if !runtimes.Linked {
				return runtimes.ErrNone
			}
			o.NormalPriority = !nice
			return a.OnCache(func(ctx context.Context, c cli.Cache) error {
				if plan {
					return rebuild.Plan(ctx, c, app)
				}
				return rebuild.Run(ctx, c, app, o, quiet)
			})(cmd, nil)
		},
	}
	flags := cmd.Flags()
	flags.BoolVarP(&plan, "plan", "n", false, "only say what would be built")
	appFlag(a, cmd, &app, "only the programs that this application has used")
	flags.IntVarP(&o.Jobs, "jobs", "j", 1, "how many builds there are at once")
	flags.BoolVar(&nice, "nice", false, "build when nobody else wants the processor")
	flags.DurationVar(&o.Limit, "limit", 10*time.Minute, "a build that takes longer is ended")
	flags.DurationVar(&o.Budget, "budget", 24*time.Hour, "end when builds took so much processor time")
	flags.BoolVarP(&quiet, "quiet", "q", false, "say nothing")
	return cmd
}

func checkJobs(jobs int) error {
	if jobs < 1 {
		return cli.Usagef("--jobs %d: want 1 or more", jobs)
	}
	return nil
}
