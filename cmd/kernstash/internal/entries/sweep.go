package entries

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"strings"

	"golang.org/x/term"

	"github.com/kernstash/kernstash/cmd/kernstash/internal/cli"
	"github.com/kernstash/kernstash/internal/human"
	"github.com/kernstash/kernstash/store/disk"
)

// Verify reads every entry; if repair is set it removes what can never hit.
func Verify(ctx context.Context, c cli.Cache, repair bool) error {
	checked := func(_ cli.Cache, r sweepReport) string {
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

// sweep does something with all entries, and writes what was found, with a line about it.
func sweep(
	c cli.Cache, verb string, line func(cli.Cache, sweepReport) string, do func(progress func(int64)) (sweepReport, error),
) (sweepReport, error) {
	p := c.Progress()
	r, err := do(p.Counting(verb, c.Disk.Status().Entries))
	p.Done()
	if err != nil {
		return r, err
	}
	return r, c.Report(r, true, func() {
		c.Fold(func() {
			for _, p := range r.Problems {
				state := "damaged"
				if p.Repaired {
					state = "removed"
				}
				c.Printf("%s  %s: %s\n", state, human.Printable(p.Location, false), human.Printable(p.Err.Error(), false))
			}
			c.Printf("%s\n", line(c, r))
			writeLeftovers(c.App, r.Report)
			writeRemoved(c.App, r.Frameworks, r.DryRun)
		})
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
	} {
		if l.n > 0 {
			a.Printf("%d %s\n", l.n, l.what)
		}
	}
	if r.EmptyDirs > 0 {
		a.Printf("%s %s\n", human.Plural(r.EmptyDirs, "empty directory"), removed)
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
