package entries

import (
	"context"

	"github.com/kernstash/kernstash/cmd/kernstash/internal/cli"
	"github.com/kernstash/kernstash/internal/human"
	"github.com/kernstash/kernstash/store/disk"
)

// sweepReport is what `verify`, `gc` and `clear` write as JSON.
type sweepReport struct {
	Entries       int64           `json:"entries"`
	Bytes         int64           `json:"bytes"`
	Removed       int64           `json:"removed"`
	RemovedBytes  int64           `json:"removed_bytes"`
	Damaged       int64           `json:"damaged"`
	LostRecipes   int64           `json:"lost_recipes"`
	Orphans       int64           `json:"orphans"`
	OtherVersions int64           `json:"other_versions"`
	Temporary     int64           `json:"temporary"`
	EmptyDirs     int64           `json:"empty_dirs"`
	Headers       int64           `json:"headers"`
	BadHeaders    int64           `json:"bad_headers"`
	Manifests     int64           `json:"manifests"`
	Jobs          int64           `json:"jobs"`
	DryRun        bool            `json:"dry_run,omitempty"`
	Problems      []problemReport `json:"problems,omitempty"`
}

type problemReport struct {
	Location string `json:"location"`
	Reason   string `json:"reason"`
	Repaired bool   `json:"repaired"`
}

func reportSweep(r disk.Report) sweepReport {
	out := sweepReport{
		Entries: r.Entries, Bytes: r.Bytes, Removed: r.Removed, RemovedBytes: r.RemovedBytes, Damaged: r.Damaged,
		LostRecipes: r.LostRecipes, Orphans: r.Orphans, OtherVersions: r.OtherVersions, Temporary: r.Temporary,
		EmptyDirs: r.EmptyDirs, Headers: r.Headers, BadHeaders: r.BadHeaders, Manifests: r.Manifests, Jobs: r.Jobs,
	}
	for _, p := range r.Problems {
		out.Problems = append(out.Problems, problemReport{p.Location, p.Err.Error(), p.Repaired})
	}
	return out
}

// Verify reads every entry; if repair is set it removes what can never hit.
func Verify(ctx context.Context, a *cli.App, d *disk.Store, repair bool) error {
	p := a.Progress()
	r, err := d.Verify(ctx, repair, p.Counting("verified", d.Status().Entries))
	p.Done()
	if err != nil {
		return err
	}
	err = a.Report(reportSweep(r), func() {
		writeProblems(a, r)
		a.Printf("%s, %s, %d damaged\n", human.Plural(r.Entries, "entry"), human.Size(r.Bytes), r.Damaged)
		writeLeftovers(a, r, false)
		if unrepaired(r) > 0 && !repair {
			a.Printf("run 'kernstash verify --repair' to remove what is damaged\n")
		}
	})
	if err == nil && unrepaired(r) > 0 {
		return cli.ErrFound
	}
	return err
}

// unrepaired counts the problems that are still there.
func unrepaired(r disk.Report) int64 {
	n := r.Damaged + r.LostRecipes + r.Orphans + r.BadHeaders
	for _, p := range r.Problems {
		if p.Repaired {
			n--
		}
	}
	return n
}

func writeProblems(a *cli.App, r disk.Report) {
	for _, p := range r.Problems {
		state := "damaged"
		if p.Repaired {
			state = "removed"
		}
		a.Printf("%s  %s: %s\n", state, human.Printable(p.Location, false), human.Printable(p.Err.Error(), false))
	}
}

// writeLeftovers says what else was seen, where there was any.
func writeLeftovers(a *cli.App, r disk.Report, dryRun bool) {
	removed := "removed"
	if dryRun {
		removed = "that would be removed"
	}
	for _, l := range []struct {
		n    int64
		what string
	}{
		{r.LostRecipes, "without a recipe: they hit, but cannot be explained or built again"},
		{r.Orphans, "recipes without an entry"},
		{r.OtherVersions, "of another version of kernstash"},
		{r.BadHeaders, "damaged contents of header files: entries that were built with them hit all the same"},
		{r.Headers, "contents of header files " + removed},
		{r.Manifests, "lists of header files " + removed},
		{r.Jobs, "jobs for a worker " + removed},
		{r.Temporary, "temporary files of writers that are gone " + removed},
		{r.EmptyDirs, "empty directories " + removed},
	} {
		if l.n > 0 {
			a.Printf("%d %s\n", l.n, l.what)
		}
	}
}
