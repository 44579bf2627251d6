package main

import (
	"github.com/spf13/cobra"

	"github.com/kernstash/kernstash/cmd/kernstash/internal/cli"
	"github.com/kernstash/kernstash/cmd/kernstash/internal/entries"
	"github.com/kernstash/kernstash/store/disk"
)

func gcCommand(a *cli.App) *cobra.Command {
	var maxSize, maxAge string
	var o disk.GCOptions
	cmd := &cobra.Command{
		Use:   "gc",
		Short: "Remove what is old, damaged, or over the limit",
		Long: `Remove entries that were not used for longer than the setting threshold, that
can never hit, those of older versions of kernstash that were not used for a day, and
those over the setting max-size, in the order of the setting eviction; then what
killed writers left behind. --max-age and --max-size stand
in for the settings, for this run.

EXIT STATUS
  0  done
  1  the cache could not be cleaned
  2  a flag makes no sense`,
		Example: `  kernstash gc
  kernstash gc --dry-run
  kernstash gc --max-size 1GiB --max-age 7`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if cmd.Flags().Changed("max-size") {
				a.Set = append(a.Set, "max-size="+maxSize)
			}
			if cmd.Flags().Changed("max-age") {
				a.Set = append(a.Set, "threshold="+maxAge)
			}
			return entries.GC(cmd.Context(), a, o)
		},
	}
	cmd.Flags().StringVar(&maxSize, "max-size", "", "limit for this run, such as 1GiB; 0 = none")
	cmd.Flags().StringVar(&maxAge, "max-age", "", "days without use, or a time such as 12h; 0 = keep however old")
	cmd.Flags().BoolVarP(&o.DryRun, "dry-run", "n", false, "only say what would be removed")
	return cmd
}
