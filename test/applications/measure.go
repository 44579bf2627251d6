package main

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// result is what one application showed.
type result struct {
	App       string
	Variables []string // besides those that every application has, sorted

	First time.Duration // without the layer, in an empty home
	Again time.Duration // without the layer, in the home of the first

	LayerFirst time.Duration // under the layer, in an empty home
	LayerAgain time.Duration // under the layer, in the home of that
	LayerWiped time.Duration // under the layer, of which home nothing but our cache is left

	Asked       int     // programs, by the first under the layer
	AgainCounts count3  // of the median
	WipedCounts count3  // of the median
	SavedMS     float64 // as the median of the wiped ones reports it
	Wrong       []string
	Kept        string `json:",omitempty"` // where that lies which tells why it is wrong
}

// count3 is how many programs one start found, compiled and passed through.
type count3 struct{ Found, Compiled, Passed int }

// warmRuns is how often the warm starts are measured; the median counts.
const warmRuns = 3

// measure runs an application in all ways.
func measure(ctx context.Context, scratch, kernstash string, a *application) (r result, err error) {
	r = result{App: a.name, Variables: a.env}
	// A home of its own: a worker of the row before may still be about.
	place, err := os.MkdirTemp(scratch, "row")
	if err != nil {
		return r, err
	}
	notes := filepath.Join(place, "notes")
	if err := os.Mkdir(notes, 0o700); err != nil {
		return r, err
	}
	s := stage{scratch: scratch, app: a, home: filepath.Join(place, "home"), kernstash: kernstash, notes: notes}
	defer func() {
		s.stopWorker(ctx)
		if len(r.Wrong) == 0 {
			_ = os.RemoveAll(place)
			return
		}
		s.note(ctx)
		r.Kept = place
		if why, err := s.missed(); err == nil {
			r.Wrong = append(r.Wrong, why...)
		}
	}()
	first, again, err := s.without(ctx, place)
	if err != nil {
		return r, err
	}
	r.First, r.Again = first.took, again.took

	cold, err := s.run(ctx, "cold")
	if err != nil {
		return r, err
	}
	r.LayerFirst, r.Asked = cold.took, cold.account.Programs.Asked
	r.compare("first", first, cold)
	if err := s.settled(ctx); err != nil {
		return r, err
	}
	warm := func(called string, right run, prepare func() error) (run, error) {
		var runs []run
		for i := range cmp.Or(a.warmRuns, warmRuns) {
			if err := prepare(); err != nil {
				return run{}, err
			}
			w, err := s.run(ctx, fmt.Sprint(called, "-", i+1))
			if err != nil {
				return run{}, err
			}
			r.compare(called, right, w)
			r.check(a, called, w)
			runs = append(runs, w)
		}
		slices.SortFunc(runs, func(a, b run) int { return cmp.Compare(a.took, b.took) })
		return runs[len(runs)/2], nil
	}
	w, err := warm("again", again, func() error { return nil })
	if err != nil {
		return r, err
	}
	r.LayerAgain, r.AgainCounts = w.took, w.counts()
	if w, err = warm("wiped", first, s.wipe); err != nil {
		return r, err
	}
	r.LayerWiped, r.WipedCounts, r.SavedMS = w.took, w.counts(), w.account.SavedMS
	return r, nil
}

// without runs the application without the layer: in an empty home, once more there, and in
// another empty home, as control.
func (s stage) without(ctx context.Context, place string) (first, again run, err error) {
	s.kernstash = ""
	for i, home := range []string{"one", "one", "two"} {
		s.home = filepath.Join(place, home)
		r, err := s.run(ctx, "")
		if err != nil {
			return first, again, err
		}
		switch i {
		case 0:
			first = r
		case 1:
			again = r
		case 2:
			if r.output != first.output {
				return first, again, fmt.Errorf("%s: two runs without the layer differ, so nothing can be told:\n%s", s.app.name, difference(first.output, r.output))
			}
		}
	}
	return first, again, nil
}

func (r run) counts() count3 {
	p := r.account.Programs
	return count3{p.Disk + p.Memory, p.Compiled, p.Passed}
}

// compare notes where an output differs from what is right.
func (r *result) compare(what string, right, got run) {
	if got.output != right.output {
		r.Wrong = append(r.Wrong, fmt.Sprintf("the %s run's output differs:\n%s", what, difference(right.output, got.output)))
	}
}

// check notes what a warm run must not do.
func (r *result) check(a *application, called string, w run) {
	p := w.account.Programs
	switch {
	case p.Compiled > uncacheable(w.account.CompiledBecause, a.uncacheable):
		r.Wrong = append(r.Wrong, fmt.Sprintf("a start (%s) compiled %d of %d: %v", called, p.Compiled, p.Asked, w.account.CompiledBecause))
	case a.builds && called == "wiped" && p.Disk+p.Memory == 0:
		r.Wrong = append(r.Wrong, fmt.Sprintf("a start (%s) found nothing: frontEnd %q, %s, passed %v", called, w.account.FrontEnd, w.account.Note, w.account.PassedBecause))
	}
}

// uncacheable counts the programs that were compiled because they are not cacheable, or are
// linked with one that is not, at most most.
func uncacheable(because []count, most int) int {
	n := 0
	for _, c := range because {
		if strings.HasPrefix(c.What, "not cacheable") || strings.HasPrefix(c.What, "found, but wanted by itself") {
			n += c.N
		}
	}
	return min(n, most)
}

// difference shows the first line that differs.
func difference(a, b string) string {
	x, y := strings.Split(a, "\n"), strings.Split(b, "\n")
	for i := range max(len(x), len(y)) {
		var l, m string
		if i < len(x) {
			l = x[i]
		}
		if i < len(y) {
			m = y[i]
		}
		if l != m {
			return fmt.Sprintf("  line %d: %.300q\n  instead: %.300q", i+1, m, l)
		}
	}
	return "  equal"
}
