package main

import (
	"context"
	"time"

	"github.com/spf13/cobra"

	"github.com/kernstash/kernstash/cmd/kernstash/internal/cli"
	"github.com/kernstash/kernstash/cmd/kernstash/internal/top"
)

func topCommand(a *cli.App) *cobra.Command {
	o := top.Options{Every: time.Second}
	cmd := &cobra.Command{
		Use:   "top",
		Short: "Show what the cache does, live",
		Long: `Show what 'kernstash stat' prints, live: with hits and misses a second, the processes
that build something now, and the worker. q quits.

Processes write what they have counted when they end, and once a minute while they build
or load, so rates are those of the last minute. Builds under way are those that hold
their lock in the cache, as Linux tells.

--once prints one frame, and so does top where standard output is no terminal.` +
			exits("shown", "the cache is off or cannot be read"),
		Example: `  kernstash top
  kernstash top --once
  kernstash top --json | jq .building`,
		PreRunE: func(*cobra.Command, []string) error {
			if o.Every < 100*time.Millisecond || o.Every > time.Hour {
				return cli.Usagef("--every %v: want 100ms to 1h", o.Every)
			}
			return nil
		},
		RunE: a.OnCache(func(ctx context.Context, c cli.Cache) error { return top.Show(ctx, c, o) }),
	}
	cmd.Flags().BoolVar(&o.Once, "once", false, "print one frame")
	cmd.Flags().DurationVar(&o.Every, "every", o.Every, "look anew so often")
	return cmd
}
