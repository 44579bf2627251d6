package entries

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"golang.org/x/term"

	"github.com/kernstash/kernstash/cmd/kernstash/internal/cli"
	"github.com/kernstash/kernstash/cmd/kernstash/internal/frameworks"
	"github.com/kernstash/kernstash/internal/human"
	"github.com/kernstash/kernstash/store"
	"github.com/kernstash/kernstash/store/disk"
	"github.com/kernstash/kernstash/store/remote"
	"github.com/kernstash/kernstash/trust"
)

// GC removes what is old, damaged, or over the limit.
func GC(ctx context.Context, c cli.Cache, o disk.GCOptions) error {
	o.MaxAge, o.Older = c.Settings.Threshold, 24*time.Hour // older versions may use the cache as well
	limits := frameworks.Limits{MaxSize: c.Settings.FrameworksMaxSize, MaxAge: o.MaxAge, DryRun: o.DryRun}
	_, err := sweep(c, "looked at", removed, func(progress func(int64)) (sweepReport, error) {
		r, err := c.Disk.GC(ctx, o, progress)
		if err != nil {
			return sweepReport{Report: r}, err
		}
		kept, err := frameworks.Trim(ctx, c.Settings.Dir, limits, time.Now())
		return sweepReport{r, kept}, err
	})
	return err
}

// Clear removes every entry; it asks first unless yes is set.
func Clear(ctx context.Context, c cli.Cache, yes bool) error {
	if !yes {
		agreed, err := Ask(ctx, c.App, fmt.Sprintf("remove every entry in %s?", c.Settings.Dir))
		if err != nil || !agreed {
			return err
		}
	}
	_, err := sweep(c, "cleared", removed, func(progress func(int64)) (sweepReport, error) {
		r, err := c.Disk.Clear(ctx, nil, progress)
		if err != nil {
			return sweepReport{Report: r}, err
		}
		kept, err := frameworks.Clear(ctx, c.Settings.Dir, time.Now())
		return sweepReport{r, kept}, err
	})
	return err
}

// ClearSignedBy removes the entries that were stored with a signature of one of these keys, by their fingerprints:
// those that came from a remote. It asks first unless yes is set.
func ClearSignedBy(ctx context.Context, c cli.Cache, fingerprints []string, yes bool) error {
	if !yes {
		agreed, err := Ask(ctx, c.App, fmt.Sprintf("remove what %s signed in %s?", strings.Join(fingerprints, ", "), c.Settings.Dir))
		if err != nil || !agreed {
			return err
		}
	}
	signed := func(i store.Info) bool {
		head, err := c.Disk.Seal(ctx, i.Key)
		if err != nil || head == nil {
			return false
		}
		by, err := remote.Signer(head)
		return err == nil && slices.Contains(fingerprints, trust.Fingerprint(by))
	}
	_, err := sweep(c, "looked at", removed, func(progress func(int64)) (sweepReport, error) {
		r, err := c.Disk.Clear(ctx, signed, progress)
		return sweepReport{Report: r}, err
	})
	return err
}

// Verify reads every entry; if repair is set it removes what can never hit.
func Verify(ctx context.Context, c cli.Cache, repair bool) error {
	checked := func(_ cli.Cache, r disk.Report) string {
		return fmt.Sprintf("%s, %s, %d damaged", human.Plural(r.Entries, "entry"), human.Size(r.Bytes), r.Damaged)
	}
	r, err := sweep(c, "verified", checked, func(progress func(int64)) (sweepReport, error) {
		r, err := c.Disk.Verify(ctx, repair, progress)
		return sweepReport{Report: r}, err
	})
	wrong := r.Damaged + r.LostRecipes + r.Orphans + r.BadHeaders
	for _, p := range r.Problems {
		if p.Repaired {
			wrong--
		}
	}
	if err != nil || wrong == 0 {
		return err
	}
	if !repair && !c.JSON {
		c.Printf("run 'kernstash verify --repair' to remove what is damaged\n")
	}
	return cli.ErrFound
}

// removed says in a line what was removed.
func removed(c cli.Cache, r disk.Report) string {
	verb := "removed"
	if r.DryRun {
		verb = "would remove"
	}
	return fmt.Sprintf("%s %s of %d, %s of %s, in %s", verb, human.Plural(r.Removed, "entry"), r.Entries,
		human.Size(r.RemovedBytes), human.Size(r.Bytes), human.Printable(c.Settings.Dir, false))
}

// sweepReport is what a sweep found, in the cache and in those of frameworks.
type sweepReport struct {
	disk.Report
	Frameworks []frameworks.Cache `json:"frameworks,omitempty"`
}

// sweep does something with all entries, and writes what was found, with a line about it.
func sweep(
	c cli.Cache, verb string, line func(cli.Cache, disk.Report) string, do func(progress func(int64)) (sweepReport, error),
) (sweepReport, error) {
	p := c.Progress()
	r, err := do(p.Counting(verb, c.Disk.Status().Entries))
	p.Done()
	if err != nil {
		return r, err
	}
	return r, c.Report(r, true, func() {
		for _, p := range r.Problems {
			state := "damaged"
			if p.Repaired {
				state = "removed"
			}
			c.Printf("%s  %s: %s\n", state, human.Printable(p.Location, false), human.Printable(p.Err.Error(), false))
		}
		c.Printf("%s\n", line(c, r.Report))
		writeLeftovers(c.App, r.Report)
		writeRemoved(c.App, r.Frameworks, r.DryRun)
	})
}

// writeLeftovers says what else was seen, where there was any.
func writeLeftovers(a *cli.App, r disk.Report) {
	removed := "removed"
	if r.DryRun {
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

// Ask puts a question that is answered with yes or no. An interrupt ends it.
func Ask(ctx context.Context, a *cli.App, question string) (bool, error) {
	if f, ok := a.In.(*os.File); !ok || !term.IsTerminal(int(f.Fd())) {
		return false, cli.Usage(errors.New("there is nobody to ask: give --yes"))
	}
	fmt.Fprintf(a.Err, "%s [y/N] ", human.Printable(question, false))
	answered := make(chan string, 1)
	go func() { // which ends with the process, if nobody answers
		answer, _ := bufio.NewReader(a.In).ReadString('\n')
		answered <- answer
	}()
	select {
	case answer := <-answered:
		answer = strings.ToLower(strings.TrimSpace(answer))
		return answer == "y" || answer == "yes", nil
	case <-ctx.Done():
		fmt.Fprintln(a.Err)
		return false, context.Cause(ctx)
	}
}
