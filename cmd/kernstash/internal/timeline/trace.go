package timeline

import (
	"encoding/json"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/kernstash/kernstash/cmd/kernstash/internal/entries"
	"github.com/kernstash/kernstash/internal/human"
	"github.com/kernstash/kernstash/internal/runlog"
)

// Of the format, "Trace Event Format" of Chromium, these are all events that are written: metadata
// (M), complete events (X) and instants (i). Times are microseconds since the beginning.
type event struct {
	Name  string  `json:"name"`
	Cat   string  `json:"cat,omitempty"`
	Phase string  `json:"ph"`
	TS    float64 `json:"ts"`
	Dur   float64 `json:"dur,omitempty"`
	PID   int     `json:"pid"`
	TID   int     `json:"tid"`
	Scope string  `json:"s,omitempty"` // of an instant: t, its thread
	Args  any     `json:"args,omitempty"`
}

type named struct {
	Name string `json:"name"`
}

type ordered struct {
	Index int `json:"sort_index"`
}

// arguments are what a viewer shows of a request.
type arguments struct {
	Key      string  `json:"key,omitempty"`
	Kernels  string  `json:"kernels,omitempty"`
	Outcome  string  `json:"outcome"`
	Reason   string  `json:"reason,omitempty"`
	FrontEnd string  `json:"front_end,omitempty"`
	WaitedMS float64 `json:"waiting_ms,omitempty"`
	SpentMS  float64 `json:"spent_ms,omitempty"`
}

// Write writes a run as a trace. Requests of a process that overlap are on tracks of their own:
// which of its threads made them is not known.
func Write(w io.Writer, r *Run) error {
	t := tracer{run: r, origin: r.first()}
	t.command()
	for _, pid := range t.pids() {
		t.process(pid)
	}
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	return enc.Encode(struct {
		Events []event           `json:"traceEvents"`
		Unit   string            `json:"displayTimeUnit"`
		Other  map[string]string `json:"otherData"`
	}{t.events, "ms", map[string]string{"tool": "kernstash", "begun": r.Begun.UTC().Format(time.RFC3339Nano)}})
}

type tracer struct {
	run    *Run
	origin time.Time
	events []event
	tracks int // so far: their numbers are not used twice
}

// pids returns the processes in the order in which they first ask.
func (t *tracer) pids() (pids []int) {
	for _, s := range t.run.Requests {
		if !slices.Contains(pids, s.PID) {
			pids = append(pids, s.PID)
		}
	}
	return pids
}

// command adds the command, whose process number nobody has noted.
func (t *tracer) command() {
	pids, free := t.pids(), 1
	for slices.Contains(pids, free) {
		free++
	}
	t.describe(free, "kernstash run", 0)
	t.track(free, "command")
	t.events = append(t.events, event{
		Name: text(strings.Join(t.run.Command, " ")), Cat: "command", Phase: "X", TS: t.at(t.run.Begun), Dur: t.run.Millis * 1000, PID: free, TID: t.tracks,
		Args: map[string]int{"exit_status": t.run.Status},
	})
}

func (t *tracer) describe(pid int, name string, order int) {
	t.events = append(t.events,
		event{Name: "process_name", Phase: "M", PID: pid, Args: named{name}},
		event{Name: "process_sort_index", Phase: "M", PID: pid, Args: ordered{order}})
}

func (t *tracer) track(pid int, name string) {
	t.tracks++
	t.events = append(t.events, event{Name: "thread_name", Phase: "M", PID: pid, TID: t.tracks, Args: named{name}})
}

// of returns the requests of a process.
func (t *tracer) of(pid int) (own []*runlog.Span) {
	for i := range t.run.Requests {
		if s := &t.run.Requests[i]; s.PID == pid {
			own = append(own, s)
		}
	}
	return own
}

// process adds a process.
func (t *tracer) process(pid int) {
	own := t.of(pid)
	t.describe(pid, text(name(own[0])), t.tracks)
	for _, lane := range lanes(own) {
		t.track(pid, "requests")
		for _, s := range lane {
			t.request(s, t.tracks)
		}
	}
}

// lanes sorts the requests of a process into lanes, on which none overlaps another one.
func lanes(own []*runlog.Span) (lanes [][]*runlog.Span) {
	slices.SortStableFunc(own, func(a, b *runlog.Span) int { return begin(a).Compare(begin(b)) })
	var until []time.Time // of each lane
	for _, s := range own {
		i := slices.IndexFunc(until, func(end time.Time) bool { return !begin(s).Before(end) })
		if i < 0 {
			i = len(until)
			until, lanes = append(until, time.Time{}), append(lanes, nil)
		}
		until[i] = s.Ended
		lanes[i] = append(lanes[i], s)
	}
	return lanes
}

// Track is a line of what a process did, on which no request overlaps another one.
type Track struct {
	PID     int
	Program string
	Slices  []Slice
}

// Tracks returns when what was, the processes in the order in which they first ask, and what it is measured from: the begin of
// the run.
func (r *Run) Tracks() (all []Track, origin time.Time) {
	t := tracer{run: r, origin: r.first()}
	for _, pid := range t.pids() {
		for _, lane := range lanes(t.of(pid)) {
			track := Track{PID: pid, Program: text(name(lane[0]))}
			for _, s := range lane {
				track.Slices = append(track.Slices, slicesOf(s)...)
			}
			all = append(all, track)
		}
	}
	return all, t.origin
}

// Label names what was asked for.
func (s *Slice) Label() string { return entries.Label(s.Span.Label) }

// first returns the begin of a run, or of its first request where the clock was set.
func (r *Run) first() time.Time {
	first := r.Begun
	for i := range r.Requests {
		if b := begin(&r.Requests[i]); b.Before(first) {
			first = b
		}
	}
	return first
}

func begin(s *runlog.Span) time.Time { return s.Ended.Add(-s.Spent - s.Waited) }

// request adds a request to a track.
func (t *tracer) request(s *runlog.Span, track int) {
	args := arguments{
		Key: text(s.Key), Kernels: text(s.Label), Outcome: string(s.Outcome), Reason: text(s.Reason), FrontEnd: text(s.FrontEnd),
		WaitedMS: human.Millis(s.Waited), SpentMS: human.Millis(s.Spent),
	}
	of := entries.Label(s.Label)
	all := slicesOf(s)
	if len(all) == 0 {
		t.events = append(t.events, event{
			Name: string(s.Outcome) + " " + of, Cat: string(s.Outcome), Phase: "i", TS: t.at(s.Ended), PID: s.PID, TID: track, Scope: "t", Args: args,
		})
	}
	for _, piece := range all {
		t.events = append(t.events, event{
			Name: string(piece.What) + " " + of, Cat: string(piece.What), Phase: "X",
			TS: t.at(piece.Begun), Dur: micros(piece.Ended.Sub(piece.Begun)), PID: s.PID, TID: track, Args: args,
		})
	}
}

func (t *tracer) at(when time.Time) float64 { return micros(when.Sub(t.origin)) }

func micros(d time.Duration) float64 { return float64(d) / float64(time.Microsecond) }

func text(s string) string { return human.Printable(s, false) }
