package main

import (
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/kernstash/kernstash/cmd/kernstash/internal/caches"
	"github.com/kernstash/kernstash/cmd/kernstash/internal/cli"
	"github.com/kernstash/kernstash/internal/human"
)

func scanCommand(a *cli.App) *cobra.Command {
	in := caches.Input{Get: os.Getenv, Limits: caches.Usual}
	cmd := &cobra.Command{
		Use:   "scan",
		Short: "Look for the caches of drivers and frameworks on this machine",
		Long: `Look where drivers and frameworks keep what they compile, by their own variables and
defaults. Of each that is there: its size, its files, when it was last written, and
where it is. docs/SCAN.md has the rules, with their sources. The tools are
` + tools() + `.

--portable reads the files, and says which of them hold absolute paths that another
machine need not have, or the name of this one. What is compressed is not seen.

Nothing is changed, no link is followed, and what is looked at is bounded: 200,000
files, 256 MiB, 10 seconds. Where a bound was met it says so.` +
			exits("said", "it was interrupted"),
		Example: `  kernstash scan
  kernstash scan --portable
  kernstash scan --json`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			s, err := a.Settings()
			if err != nil {
				return err
			}
			in.Root = s.Dir
			in.Host, _ = os.Hostname()
			r, err := caches.Scan(cmd.Context(), in)
			if err != nil {
				return err
			}
			return a.Report(r, true, func() { a.Fold(func() { r.WriteText(a.Out, time.Now()) }) })
		},
	}
	cmd.Flags().BoolVar(&in.Portable, "portable", false, "say which of them hold paths, or the name of this machine")
	return cmd
}

// tools returns the names of the tools, on lines that fit.
func tools() string {
	var names []string
	for _, r := range caches.Rules() {
		names = append(names, r.Tool)
	}
	return strings.Join(human.Wrap(strings.Join(names, ", "), 84), "\n")
}
