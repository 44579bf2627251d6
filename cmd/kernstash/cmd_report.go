package main

import (
	"bytes"
	"context"
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"github.com/kernstash/kernstash/cmd/kernstash/internal/cli"
	"github.com/kernstash/kernstash/cmd/kernstash/internal/timeline"
)

func reportCommand(a *cli.App) *cobra.Command {
	var trace string
	cmd := &cobra.Command{
		Use:   "report [FILE]",
		Short: "Say where the time of a run went",
		Long: `Say where the time of a command went that was run with 'kernstash run': compiling,
loading what was compiled before, waiting for another process or thread that compiled
it, and all else; by process, and the longest requests. What several threads do at
once counts once. It is the last run in which anything was asked of the cache (the
cache keeps one, unless the run was --quiet or the setting records is off), or with a
FILE the one of which 'kernstash run --report-file FILE' wrote it.

--trace writes it as a trace (Chromium's Trace Event Format, JSON), which
https://ui.perfetto.dev, chrome://tracing and https://www.speedscope.app show. 'kernstash
run --trace' writes the same at once.` +
			exits("said", "no run is kept, or the file cannot be read, or is no report of a run"),
		Example: `  kernstash run -- ./solver input.dat
  kernstash report
  kernstash report run.json
  kernstash report run.json --trace run.trace.json`,
		Args: wants(0, 1, "report: give the file of one report"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return a.OnCache(func(_ context.Context, c cli.Cache) error {
					run, err := timeline.ReadLast(c.Disk)
					return writeReport(a, run, err, trace)
				})(cmd, args)
			}
			run, err := timeline.ReadFile(args[0])
			return writeReport(a, run, err, trace)
		},
	}
	cmd.Flags().StringVar(&trace, "trace", "", "write a trace of it into `FILE`, for Perfetto, chrome://tracing and speedscope")
	return cmd
}

// writeReport writes what is known of a run that was read, and a trace of it, if that has a name.
func writeReport(a *cli.App, run *timeline.Run, err error, trace string) error {
	if err != nil {
		return fmt.Errorf("report: %w", err)
	}
	if trace != "" {
		var b bytes.Buffer
		if err := timeline.Write(&b, run); err != nil {
			return fmt.Errorf("report: %w", err)
		}
		if err := os.WriteFile(trace, b.Bytes(), 0o666); err != nil {
			return fmt.Errorf("report: %w", err)
		}
	}
	where := run.Where()
	if a.JSON {
		return a.WriteJSON(where)
	}
	return where.WriteText(a.Out, a.Terminal())
}
