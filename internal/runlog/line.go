package runlog

import (
	"encoding/json"
	"slices"
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

// line is an event as it is written, with times in milliseconds.
type line struct {
	*Event
	SpentMS float64 `json:"spent_ms,omitzero"`
	SavedMS float64 `json:"saved_ms,omitzero"`
}

// encode returns the event as a line with its line feed.
func encode(e Event) []byte {
	l := line{SpentMS: millis(e.Spent), SavedMS: millis(e.Saved)}
	for n := maxText; ; n /= 2 {
		short := e
		for _, text := range []*string{&short.FrontEnd, &short.Exe, &short.Key, &short.Reason, &short.Nearest} {
			*text = cut(*text, n)
		}
		short.Label = cut(e.Label, maxLabel*n)
		l.Event = &short
		if b, err := json.Marshal(l); err != nil || len(b) < MaxLine {
			return append(b, '\n') // there is no error
		}
	}
}

// decode reads one line without its line feed. ok is false for anything that is
// not an event.
func decode(b []byte) (e Event, ok bool) {
	l := line{Event: &e}
	if len(b) >= MaxLine || json.Unmarshal(b, &l) != nil {
		return Event{}, false
	}
	e.Spent, e.Saved, e.Bytes = duration(l.SpentMS), duration(l.SavedMS), max(e.Bytes, 0)
	return e, e.known()
}

func (e Event) known() bool {
	outcomes := []Outcome{Memory, Disk, Compiled, Passed, Failed}
	known := slices.Contains([]Kind{Loaded, Out, Job}, e.Kind) || e.Kind == Asked && slices.Contains(outcomes, e.Outcome)
	return known && e.PID > 0
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
