// Package timeline says where the time of a run went: compiling, loading, waiting for somebody
// else who compiled, by process; in words, and as a trace that other tools show.
package timeline

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/kernstash/kernstash/cmd/kernstash/internal/bundles"
	"github.com/kernstash/kernstash/internal/runlog"
)

// Run is what a report of `kernstash run` says of when what was.
type Run struct {
	Command  []string      `json:"command"`
	Status   int           `json:"exit_status"`
	Begun    time.Time     `json:"begun"`
	Millis   float64       `json:"elapsed_ms"`
	Requests []runlog.Span `json:"timeline"`
	More     int           `json:"timeline_more,omitempty"` // requests that are not there

	Programs     []runlog.Program `json:"requests"`
	MorePrograms int              `json:"requests_more,omitempty"`

	From
}

// From says from where programs came that the user's own cache did not have.
type From struct {
	Layers   []runlog.Count `json:"from_layers,omitempty"` // directories, or names
	Restored *bundles.Used  `json:"restored,omitempty"`    // the bundle that the command was run with
}

// maxFile is what is read of a file at most.
const maxFile = 64 << 20

// ReadFile reads a file that `kernstash run --report-file` wrote.
func ReadFile(path string) (*Run, error) {
	run, err := readFile(path)
	if err == nil && run.Requests == nil {
		return nil, fmt.Errorf("read %s: %w: it has no timeline", path, errNone)
	}
	return run, err
}

// ReadPrograms reads such a file, or what `kernstash report --json` made of one, which has no timeline.
func ReadPrograms(path string) (*Run, error) {
	run, err := readFile(path)
	if err == nil && run.Programs == nil {
		return nil, fmt.Errorf("read %s: %w: it has no requests", path, errNone)
	}
	return run, err
}

var errNone = errors.New("no report of a run")

func readFile(path string) (*Run, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("read %s: not a regular file", path)
	}
	b, err := io.ReadAll(io.LimitReader(f, maxFile+1))
	if err != nil {
		return nil, err
	}
	if len(b) > maxFile {
		return nil, fmt.Errorf("read %s: larger than %d bytes", path, maxFile)
	}
	run, err := parse(b)
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", path, err)
	}
	return run, nil
}

// parse reads a report. What no run can have written is an error.
func parse(b []byte) (*Run, error) {
	run := new(Run)
	if err := json.Unmarshal(b, run); err != nil {
		return nil, fmt.Errorf("%w: %w", errNone, err)
	}
	const longest = float64(10 * 365 * 24 * time.Hour / time.Millisecond)
	switch year := run.Begun.Year(); {
	case len(run.Command) == 0:
		return nil, fmt.Errorf("%w: it has no command", errNone)
	case year < 2000 || year > 2200 || !(run.Millis >= 0 && run.Millis < longest):
		return nil, fmt.Errorf("%w: its time makes no sense", errNone)
	}
	run.Requests = slices.DeleteFunc(run.Requests, func(r runlog.Span) bool { return r.Ended.Sub(run.Begun).Abs() > 365*24*time.Hour })
	return run, nil
}

// What is what a time went to.
type What string

// What times go to.
const (
	Compiling What = "compiling"
	Loading   What = "loading"
	Waiting   What = "waiting"
)

// Slice is a piece of time.
type Slice struct {
	What
	*runlog.Span
	Begun, Ended time.Time
}

// slicesOf returns the pieces of a request, in order; none of one that took no time.
func slicesOf(r *runlog.Span) (all []Slice) {
	begun := r.Ended.Add(-r.Spent)
	if r.Waited > 0 {
		all = append(all, Slice{Waiting, r, begun.Add(-r.Waited), begun})
	}
	what := Compiling
	switch r.Outcome {
	case runlog.Disk, runlog.Memory:
		what = Loading
	case runlog.Passed:
		return all // who compiled did not say how long that took
	}
	if r.Spent > 0 {
		all = append(all, Slice{what, r, begun, r.Ended})
	}
	return all
}

// Times are what went to what. Of two threads that do the same at once the time counts once.
type Times struct {
	CompilingMS float64 `json:"compiling_ms"`
	LoadingMS   float64 `json:"loading_ms"`
	WaitingMS   float64 `json:"waiting_ms"`
}

// Process is where the time of a process went.
type Process struct {
	PID     int    `json:"pid"`
	Program string `json:"program"` // the file's name
	Asked   int    `json:"asked"`   // requests, but for those in memory
	Times
}

// Where is where the time of a run went.
type Where struct {
	Command []string  `json:"command"`
	Status  int       `json:"exit_status"`
	Begun   time.Time `json:"begun"`
	Millis  float64   `json:"elapsed_ms"`
	Times
	OtherMS   float64       `json:"other_ms"`  // neither compiling, loading nor waiting, in any process
	Processes []Process     `json:"processes"` // those first to which most went
	Longest   []runlog.Span `json:"longest"`   // requests
	More      int           `json:"timeline_more,omitempty"`

	Programs     []runlog.Program `json:"requests"`
	MorePrograms int              `json:"requests_more,omitempty"`

	From
}

// Where says where the time went.
func (r *Run) Where() *Where {
	w := &Where{
		Command: r.Command, Status: r.Status, Begun: r.Begun, Millis: r.Millis, Processes: []Process{}, More: r.More,
		Programs: append([]runlog.Program{}, r.Programs...), MorePrograms: r.MorePrograms, From: r.From,
	}
	var all []Slice
	of := make(map[int][]Slice)
	for i := range r.Requests {
		of[r.Requests[i].PID] = append(of[r.Requests[i].PID], slicesOf(&r.Requests[i])...)
	}
	for pid, own := range of {
		p := Process{PID: pid, Program: "?", Times: times(own)}
		for i := range r.Requests {
			if s := &r.Requests[i]; s.PID == pid {
				p.Asked++
				p.Program = name(s)
			}
		}
		w.Processes = append(w.Processes, p)
		all = append(all, own...)
	}
	slices.SortFunc(w.Processes, func(a, b Process) int { return cmp.Or(cmp.Compare(b.sum(), a.sum()), a.PID-b.PID) })
	w.Times = times(all)
	w.OtherMS = max(r.Millis-covered(all, func(Slice) bool { return true }), 0)
	w.Longest = slices.Clone(r.Requests)
	slices.SortStableFunc(w.Longest, func(a, b runlog.Span) int { return cmp.Compare(b.Spent+b.Waited, a.Spent+a.Waited) })
	w.Longest = append([]runlog.Span{}, w.Longest[:min(len(w.Longest), longest)]...)
	return w
}

// longest is how many of the longest requests are named.
const longest = 10

func (t Times) sum() float64 { return t.CompilingMS + t.LoadingMS + t.WaitingMS }

// name is what people know the program of a process by.
func name(s *runlog.Span) string { return cmp.Or(filepath.Base(cmp.Or(s.Exe, "?")), "?") }

func times(all []Slice) Times {
	of := func(what What) float64 { return covered(all, func(s Slice) bool { return s.What == what }) }
	return Times{of(Compiling), of(Loading), of(Waiting)}
}

// covered returns the milliseconds in which at least one of some pieces was.
func covered(all []Slice, counts func(Slice) bool) float64 {
	own := slices.DeleteFunc(slices.Clone(all), func(s Slice) bool { return !counts(s) })
	slices.SortFunc(own, func(a, b Slice) int { return a.Begun.Compare(b.Begun) })
	var sum time.Duration
	var until time.Time
	for _, s := range own {
		if s.Begun.After(until) {
			until = s.Begun
		}
		if s.Ended.After(until) {
			sum += s.Ended.Sub(until)
			until = s.Ended
		}
	}
	return float64(sum) / float64(time.Millisecond)
}
