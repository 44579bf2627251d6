package runlog

import (
	"encoding/json"
	"slices"
	"time"
	"unicode/utf8"

	"github.com/kernstash/kernstash/internal/human"
)

// Kind is what a line tells of.
type Kind string

// The kinds of events.
const (
	Loaded Kind = "loaded" // a front end is in a process: FrontEnd
	Out    Kind = "out"    // a front end stays out of a process: Reason
	Asked  Kind = "asked"  // a program was asked for: all the other fields
	Job    Kind = "job"    // a recipe was left for the worker: Key, Label
)

// Outcome is how a request for a program ended.
type Outcome string

// The outcomes.
const (
	Memory   Outcome = "memory"   // a live program of this process
	Disk     Outcome = "disk"     // restored from an artifact
	Compiled Outcome = "compiled" // the driver's compiler built it, or part of it: Reason, Nearest
	Passed   Outcome = "passed"   // not asked of the cache: Reason
	Failed   Outcome = "failed"   // the compiler refused it
)

// Observed says what mode observe found, which serves nothing.
type Observed string

// What can be observed.
const (
	Equal     Observed = "equal"     // would have hit, and the build made the same artifact
	Different Observed = "different" // would have hit, and the build made another artifact
	Unknown   Observed = "unknown"   // would have hit, and the build's artifact is not at hand
)

// ReasonBinary is the Reason of a program that the application made of a binary of its own.
const ReasonBinary = "binary"

// ReasonWanted is the Reason of a compiled unit that was found, and that the driver had to
// compile nevertheless: the application links libraries of its units, asks what is in them,
// or links them in a way that is not cached.
const ReasonWanted = "found, but wanted by itself: for a library, say"

// Event is one line of JSON, in which times are milliseconds, as everywhere in ours.
type Event struct {
	Kind     Kind   `json:"event"`
	PID      int    `json:"pid"`                // 0 in Write: this process
	FrontEnd string `json:"front_end,omitzero"` // "opencl-layer", "opencl-preload", "go", "c"
	Exe      string `json:"exe,omitzero"`       // path of the program, "" if not known

	Key     string  `json:"key,omitzero"`     // short form, "" if there is none
	Label   string  `json:"label,omitzero"`   // what people know the program by: kernel names, or its size
	Outcome Outcome `json:"outcome,omitzero"` // of Asked
	Reason  string  `json:"reason,omitzero"`  // why: of Out, Passed, Compiled, Failed
	Nearest string  `json:"nearest,omitzero"` // of Compiled: what differs from the nearest entry

	Observed Observed      `json:"observed,omitzero"` // in mode observe
	Ended    time.Time     `json:"ended,omitzero"`    // zero in Write: now
	Waited   time.Duration `json:"-"`                 // before Spent, for somebody else who compiled it
	Spent    time.Duration `json:"-"`                 // on this request, until Ended: compiling, or looking up and loading
	Cost     time.Duration `json:"-"`                 // of Compiled: the part of Spent that is left where the process compiled more at the same time; zero: Spent
	Saved    time.Duration `json:"-"`                 // recorded cost of the build less Spent; 0 if compiled, below if it was found before
	Bytes    int64         `json:"bytes,omitzero"`    // of the artifact
	Layer    string        `json:"layer,omitzero"`    // of Disk: the read-only layer that had it, a directory, or the remote, a name
}

// MaxLine is the length of a line at most, its line feed included.
const MaxLine = 4096

// maxText is the length of a text at most; a label, in which a program may have many kernels, is
// longer. In a line that is too long for all that, all texts are cut further.
const (
	maxText  = 1024
	maxLabel = 3 // times as long
)

// line is an event as it is written, with times in milliseconds.
type line struct {
	*Event
	WaitedMS float64 `json:"waiting_ms,omitzero"`
	SpentMS  float64 `json:"spent_ms,omitzero"`
	CostMS   float64 `json:"cost_ms,omitzero"`
	SavedMS  float64 `json:"saved_ms,omitzero"`
}

// encode returns the event as a line with its line feed.
func encode(e Event) []byte {
	l := line{WaitedMS: millis(e.Waited), SpentMS: millis(e.Spent), CostMS: millis(e.Cost), SavedMS: millis(e.Saved)}
	for n := maxText; ; n /= 2 {
		short := e
		for _, text := range []*string{&short.FrontEnd, &short.Exe, &short.Key, &short.Reason, &short.Nearest, &short.Layer} {
			*text = cut(*text, n)
		}
		short.Label = human.CutLabel(e.Label, maxLabel*n)
		l.Event = &short
		if b, err := json.Marshal(l); err != nil || len(b) < MaxLine {
			return append(b, '\n') // there is no error
		}
	}
}

// decode reads one line without its line feed. ok is false for anything that is not an event.
func decode(b []byte) (e Event, ok bool) {
	l := line{Event: &e}
	if len(b) >= MaxLine || json.Unmarshal(b, &l) != nil {
		return Event{}, false
	}
	e.Spent, e.Cost, e.Saved, e.Bytes = duration(l.SpentMS), max(duration(l.CostMS), 0), duration(l.SavedMS), max(e.Bytes, 0)
	e.Ended, e.Waited = e.Ended.UTC(), max(duration(l.WaitedMS), 0)
	outcomes := []Outcome{Memory, Disk, Compiled, Passed, Failed}
	known := slices.Contains([]Kind{Loaded, Out, Job}, e.Kind) || e.Kind == Asked && slices.Contains(outcomes, e.Outcome)
	return e, known && e.PID > 0
}

// cut returns at most n bytes of s, whole characters of it.
func cut(s string, n int) string {
	const dots = "…"
	if len(s) <= n {
		return s
	}
	n -= len(dots)
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n] + dots
}

func millis(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

// duration is millis the other way round; what no program can have taken is none.
func duration(ms float64) time.Duration {
	const most = float64(365 * 24 * time.Hour / time.Millisecond)
	if !(ms >= -most && ms <= most) {
		return 0
	}
	return time.Duration(ms * float64(time.Millisecond))
}
