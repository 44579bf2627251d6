package runlog

import (
	"encoding/json"
	"strconv"
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

// append appends the line as JSON, without encoding/json: what that makes ready for a type
// takes a tenth of a program's first hit.
func (l line) append(b []byte) []byte {
	b = appendText(append(b, `{"event":`...), string(l.Event))
	b = strconv.AppendInt(append(b, `,"pid":`...), int64(l.PID), 10)
	for _, f := range []struct{ name, text string }{
		{"door", l.Door},
		{"exe", l.Exe},
		{"key", l.Key},
		{"label", l.Label},
		{"outcome", string(l.Outcome)},
		{"reason", l.Reason},
		{"nearest", l.Nearest},
		{"observed", string(l.Observed)},
	} {
		if f.text != "" {
			b = appendText(append(append(append(b, ',', '"'), f.name...), '"', ':'), f.text)
		}
	}
	if l.SpentMS != 0 {
		b = strconv.AppendFloat(append(b, `,"spent_ms":`...), l.SpentMS, 'g', -1, 64)
	}
	if l.SavedMS != 0 {
		b = strconv.AppendFloat(append(b, `,"saved_ms":`...), l.SavedMS, 'g', -1, 64)
	}
	if l.Bytes != 0 {
		b = strconv.AppendInt(append(b, `,"bytes":`...), l.Bytes, 10)
	}
	return append(b, '}')
}

const hex = "0123456789abcdef"

// appendText appends a string of JSON. What is no text in s becomes U+FFFD.
func appendText(b []byte, s string) []byte {
	b = append(b, '"')
	for _, r := range s {
		switch {
		case r == '"' || r == '\\':
			b = append(b, '\\', byte(r))
		case r < ' ' || r == 0x7f:
			b = append(b, '\\', 'u', '0', '0', hex[r>>4], hex[r&15])
		default:
			b = utf8.AppendRune(b, r)
		}
	}
	return append(b, '"')
}

// encode returns the event as a line with its line feed.
func encode(e Event) []byte {
	for n := maxText; ; n /= 2 {
		b := line{
			Event: e.Kind, PID: e.PID,
			Door: cut(e.Door, n), Exe: cut(e.Exe, n), Key: cut(e.Key, n), Label: cut(e.Label, maxLabel*n),
			Outcome: e.Outcome, Reason: cut(e.Reason, n), Nearest: cut(e.Nearest, n), Observed: e.Observed,
			SpentMS: millis(e.Spent), SavedMS: millis(e.Saved), Bytes: e.Bytes,
		}.append(make([]byte, 0, 512))
		if len(b) < MaxLine {
			return append(b, '\n')
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
