package entries

import (
	"context"
	"time"

	"github.com/kernstash/kernstash/cmd/kernstash/internal/cli"
	"github.com/kernstash/kernstash/internal/human"
	"github.com/kernstash/kernstash/internal/settings"
	"github.com/kernstash/kernstash/store/disk"
)

// olderAge is how long an entry of an older version is kept for that version, which may
// use the cache as well.
const olderAge = 24 * time.Hour

// GC removes what is old, damaged, or over the limit.
func GC(ctx context.Context, a *cli.App, d *disk.Store, s *settings.Settings, o disk.GCOptions) error {
	o.MaxAge, o.Older = s.Threshold, olderAge
	p := a.Progress()
	r, err := d.GC(ctx, o, p.Counting("looked at", d.Status().Entries))
	p.Done()
	if err != nil {
		return err
	}
	return writeSwept(a, r, o.DryRun, s)
}

// writeSwept says what was removed.
func writeSwept(a *cli.App, r disk.Report, dryRun bool, s *settings.Settings) error {
	report := reportSweep(r)
	report.DryRun = dryRun
	return a.Report(report, func() {
		writeProblems(a, r)
		verb := "removed"
		if dryRun {
			verb = "would remove"
		}
		a.Printf("%s %s of %d, %s of %s, in %s\n", verb, human.Plural(r.Removed, "entry"), r.Entries,
			human.Size(r.RemovedBytes), human.Size(r.Bytes), human.Printable(s.Dir, false))
		writeLeftovers(a, r, dryRun)
	})
}
