package runlog

import (
	"encoding/json"
	"time"
	"unicode/utf8"
)

// MaxLine is the length of a line at most, its line feed included.
const MaxLine = 4096

// maxText is the length of a text at most; a label, in which a program may have
// many kernels, is longer. In a line that is too long for all that, all texts
// are cut further.
const (
	maxText  = 1024
	maxLabel = 3 // times as long
)

// line is an Event as it is written. Times are milliseconds, as everywhere in
// our JSON.
type line struct {
	Event    Kind     `json:"event"`
	PID      int      `json:"pid"`
	Door     string   `json:"door,omitempty"`
	Exe      string   `json:"exe,omitempty"`
	Key      string   `json:"key,omitempty"`
	Label    string   `json:"label,omitempty"`
	Outcome  Outcome  `json:"outcome,omitempty"`
	Reason   string   `json:"reason,omitempty"`
	Nearest  string   `json:"nearest,omitempty"`
	Observed Observed `json:"observed,omitempty"`
	SpentMS  float64  `json:"spent_ms,omitempty"`
	SavedMS  float64  `json:"saved_ms,omitempty"`
	Bytes    int64    `json:"bytes,omitempty"`
}

// encode returns the event as a line with its line feed.
func encode(e Event) ([]byte, error) {
	for n := maxText; ; n /= 2 {
		b, err := json.Marshal(line{
			Event: e.Kind, PID: e.PID,
			Door: cut(e.Door, n), Exe: cut(e.Exe, n), Key: cut(e.Key, n), Label: cut(e.Label, maxLabel*n),
			Outcome: e.Outcome, Reason: cut(e.Reason, n), Nearest: cut(e.Nearest, n), Observed: e.Observed,
			SpentMS: millis(e.Spent), SavedMS: millis(e.Saved), Bytes: e.Bytes,
		})
		if err != nil {
			return nil, err
		}
		if len(b) < MaxLine {
			return append(b, '\n'), nil
		}
	}
}

// decode reads one line without its line feed. ok is false for anything that is
// not an event.
func decode(b []byte) (e Event, ok bool) {
	var l line
	if len(b) >= MaxLine || json.Unmarshal(b, &l) != nil {
		return Event{}, false
	}
	e = Event{
		Kind: l.Event, PID: l.PID, Door: l.Door, Exe: l.Exe, Key: l.Key, Label: l.Label,
		Outcome: l.Outcome, Reason: l.Reason, Nearest: l.Nearest, Observed: l.Observed,
		Spent: duration(l.SpentMS), Saved: duration(l.SavedMS), Bytes: max(l.Bytes, 0),
	}
	return e, e.known()
}

func (e Event) known() bool {
	switch e.Kind {
	case Loaded, Out, Job:
		return e.PID > 0
	case Asked:
		switch e.Outcome {
		case Memory, Disk, Compiled, Passed, Failed:
			return e.PID > 0
		}
	}
	return false
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

// duration is millis the other way round; what no program can have taken is
// none.
func duration(ms float64) time.Duration {
	const most = float64(365 * 24 * time.Hour / time.Millisecond)
	if !(ms >= -most && ms <= most) {
		return 0
	}
	return time.Duration(ms * float64(time.Millisecond))
}
