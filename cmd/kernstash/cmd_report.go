package main

import (
	"bytes"
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"github.com/kernstash/kernstash/cmd/kernstash/internal/cli"
	"github.com/kernstash/kernstash/cmd/kernstash/internal/timeline"
)

func reportCommand(a *cli.App) *cobra.Command {
	var trace string
	cmd := &cobra.Command{
		Use:   "report FILE",
		Short: "Say where the time of a run went",
		Long: `Say where the time of a command went that was run with 'kernstash run --report-file
FILE': compiling, loading what was compiled before, waiting for another process or
thread that compiled it, and all else; by process, and the longest requests. What
several threads do at once counts once.

--trace writes it as a trace (Chromium's Trace Event Format, JSON), which
https://ui.perfetto.dev, chrome://tracing and https://www.speedscope.app show. 'kernstash
run --trace' writes the same at once.` +
			exits("said", "the file cannot be read, or is no report of a run"),
		Example: `  kernstash run --report-file run.json -- ./solver input.dat
  kernstash report run.json
  kernstash report run.json --trace run.trace.json`,
		Args: wants(1, 1, "report: give the file of one report"),
		RunE: func(_ *cobra.Command, args []string) error {
			run, err := timeline.ReadFile(args[0])
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
		},
	}
	cmd.Flags().StringVar(&trace, "trace", "", "write a trace of it into `FILE`, for Perfetto, chrome://tracing and speedscope")
	return cmd
}
