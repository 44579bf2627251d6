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

// result is what one application showed with PoCL's cache on or off.
type result struct {
	App       string
	PoCLCache bool

	Without time.Duration // the first run without the layer, PoCL's cache empty
	PoCL    time.Duration // one without the layer, PoCL's cache filled; 0: it is off
	Cold    time.Duration // under the layer, both empty
	Warm    time.Duration // ours filled, PoCL's empty

	ColdAsked, WarmDisk, WarmCompiled, WarmPassed, WarmFailed int

	SavedMS float64 // as the warm run reports it
	Wrong   []string
	Kept    string `json:",omitempty"` // where that lies which tells why it is wrong
}

// warmRuns is how often the warm start is measured; the median counts.
const warmRuns = 3

// measure runs an application in all ways.
func measure(ctx context.Context, scratch, kernstash string, a *application, poclCache bool) (r result, err error) {
	r = result{App: a.name, PoCLCache: poclCache}
	// A cache of its own: a worker of the row before may still be about.
	place, err := os.MkdirTemp(scratch, "row")
	if err != nil {
		return r, err
	}
	filled, notes := filepath.Join(place, "pocl"), filepath.Join(place, "notes")
	if err := os.Mkdir(notes, 0o700); err != nil {
		return r, err
	}
	s := stage{scratch: scratch, app: a, poclCache: poclCache, root: filepath.Join(place, "root"), kernstash: kernstash, notes: notes}
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
	control := func(dir string) (run, error) {
		s := s
		s.poclDir, s.kernstash = dir, ""
		return s.run(ctx, "")
	}
	first, err := control(filled)
	if err != nil {
		return r, err
	}
	r.Without = first.took
	second, err := control("")
	if err != nil {
		return r, err
	}
	if second.output != first.output {
		return r, fmt.Errorf("%s: two runs without the layer differ, so nothing can be told:\n%s", a.name, difference(first.output, second.output))
	}
	if poclCache {
		again, err := control(filled)
		if err != nil {
			return r, err
		}
		r.PoCL = again.took
	}
	cold, err := s.run(ctx, "cold")
	if err != nil {
		return r, err
	}
	r.Cold, r.ColdAsked = cold.took, cold.account.Programs.Asked
	r.compare("cold", first, cold)
	if err := s.settled(ctx); err != nil {
		return r, err
	}
	var warm []run
	for i := range cmp.Or(a.warmRuns, warmRuns) {
		w, err := s.run(ctx, fmt.Sprint("warm-", i+1))
		if err != nil {
			return r, err
		}
		r.compare("warm", first, w)
		warm = append(warm, w)
	}
	slices.SortFunc(warm, func(a, b run) int { return int(a.took - b.took) })
	median := warm[len(warm)/2]
	p := median.account.Programs
	r.Warm, r.SavedMS = median.took, median.account.SavedMS
	r.WarmDisk, r.WarmCompiled, r.WarmPassed, r.WarmFailed = p.Disk+p.Memory, p.Compiled, p.Passed, p.Failed
	for _, w := range warm {
		r.check(a, w)
	}
	return r, nil
}

// compare notes where an output differs from what is right.
func (r *result) compare(what string, right, got run) {
	if got.output != right.output {
		r.Wrong = append(r.Wrong, fmt.Sprintf("the %s run's output differs:\n%s", what, difference(right.output, got.output)))
	}
}

// check notes what a warm run must not do.
func (r *result) check(a *application, w run) {
	p := w.account.Programs
	switch {
	case p.Compiled > uncacheable(w.account.CompiledBecause, a.uncacheable):
		r.Wrong = append(r.Wrong, fmt.Sprintf("a warm run compiled %d of %d: %v", p.Compiled, p.Asked, w.account.CompiledBecause))
	case a.builds && p.Disk+p.Memory == 0:
		r.Wrong = append(r.Wrong, fmt.Sprintf("a warm run found nothing: door %q, %s, passed %v", w.account.Door, w.account.Note, w.account.PassedBecause))
	}
}

// uncacheable counts the programs that were compiled because they are not cacheable, at
// most most.
func uncacheable(because []count, most int) int {
	n := 0
	for _, c := range because {
		if strings.HasPrefix(c.What, "not cacheable") {
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
