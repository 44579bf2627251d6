package main

import (
	"context"
	"time"

	"github.com/spf13/cobra"

	"github.com/kernstash/kernstash/internal/settings"
	"github.com/kernstash/kernstash/store/disk"
)

func (a *app) gcCommand() *cobra.Command {
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
				a.set = append(a.set, "max-size="+maxSize)
			}
			if cmd.Flags().Changed("max-age") {
				a.set = append(a.set, "threshold="+maxAge)
			}
			return a.gc(cmd.Context(), o)
		},
	}
	cmd.Flags().StringVar(&maxSize, "max-size", "", "limit for this run, such as 1GiB; 0 = none")
	cmd.Flags().StringVar(&maxAge, "max-age", "", "days without use, or a time such as 12h; 0 = keep however old")
	cmd.Flags().BoolVarP(&o.DryRun, "dry-run", "n", false, "only say what would be removed")
	return cmd
}

// olderAge is how long an entry of an older version is kept for that version, which may
// use the cache as well.
const olderAge = 24 * time.Hour

func (a *app) gc(ctx context.Context, o disk.GCOptions) (err error) {
	d, s, err := a.openDisk()
	if err != nil {
		return err
	}
	defer closeDisk(d, &err)
	o.MaxAge, o.Older = s.Threshold, olderAge
	p := a.newProgress()
	r, err := d.GC(ctx, o, p.counting("looked at", d.Status().Entries))
	p.done()
	if err != nil {
		return err
	}
	return a.writeSwept(r, o.DryRun, s)
}

// writeSwept says what was removed.
func (a *app) writeSwept(r disk.Report, dryRun bool, s *settings.Settings) error {
	if a.json {
		report := reportSweep(r)
		report.DryRun = dryRun
		return a.writeJSON(report)
	}
	a.writeProblems(r)
	verb := "removed"
	if dryRun {
		verb = "would remove"
	}
	a.printf("%s %s of %d, %s of %s, in %s\n", verb, plural(r.Removed, "entry"), r.Entries,
		humanSize(r.RemovedBytes), humanSize(r.Bytes), printable(s.Dir, false))
	a.writeLeftovers(r, dryRun)
	return nil
}
