package main

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/kernstash/kernstash/store/disk"
)

func (a *app) verifyCommand() *cobra.Command {
	var repair bool
	cmd := &cobra.Command{
		Use:   "verify",
		Short: "Read every entry and check every digest",
		Long: `Read every entry of the cache completely: its digests, that it is where its key
belongs, and that its recipe makes its key. With --repair what can never hit is
removed; the next build stores it anew.

A damaged entry does no harm without this command either: it is found at the
hit, counted, and replaced by the next build.

EXIT STATUS
  0  every entry is good, or was made so by --repair
  1  damage was found and is still there, or the cache could not be read`,
		Example: `  kernstash verify
  kernstash verify --repair --json`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return a.verify(cmd.Context(), repair) },
	}
	cmd.Flags().BoolVar(&repair, "repair", false, "remove what can never hit")
	return cmd
}

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

func (a *app) verify(ctx context.Context, repair bool) (err error) {
	d, _, err := a.openDisk()
	if err != nil {
		return err
	}
	defer closeDisk(d, &err)
	p := a.newProgress()
	r, err := d.Verify(ctx, repair, p.counting("verified", d.Status().Entries))
	p.done()
	if err != nil {
		return err
	}
	if a.json {
		err = a.writeJSON(reportSweep(r))
	} else {
		a.writeProblems(r)
		a.printf("%s, %s, %d damaged\n", plural(r.Entries, "entry"), humanSize(r.Bytes), r.Damaged)
		a.writeLeftovers(r, false)
	}
	if err == nil && unrepaired(r) > 0 {
		if !a.json && !repair {
			a.printf("run 'kernstash verify --repair' to remove what is damaged\n")
		}
		return errFound
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

func (a *app) writeProblems(r disk.Report) {
	for _, p := range r.Problems {
		state := "damaged"
		if p.Repaired {
			state = "removed"
		}
		a.printf("%s  %s: %s\n", state, printable(p.Location, false), printable(p.Err.Error(), false))
	}
}

// writeLeftovers says what else was seen, where there was any.
func (a *app) writeLeftovers(r disk.Report, dryRun bool) {
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
			a.printf("%d %s\n", l.n, l.what)
		}
	}
}
