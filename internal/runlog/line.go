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

// append appends the event as JSON, without encoding/json: what that makes ready for a type
// takes a tenth of a program's first hit. Texts are cut to n bytes.
func (e Event) append(b []byte, n int) []byte {
	b = appendText(append(b, `{"event":`...), string(e.Kind))
	b = strconv.AppendInt(append(b, `,"pid":`...), int64(e.PID), 10)
	for _, f := range []struct{ name, text string }{
		{"door", cut(e.Door, n)},
		{"exe", cut(e.Exe, n)},
		{"key", cut(e.Key, n)},
		{"label", cut(e.Label, maxLabel*n)},
		{"outcome", string(e.Outcome)},
		{"reason", cut(e.Reason, n)},
		{"nearest", cut(e.Nearest, n)},
		{"observed", string(e.Observed)},
	} {
		if f.text != "" {
			b = appendText(append(append(append(b, ',', '"'), f.name...), '"', ':'), f.text)
		}
	}
	if e.Spent != 0 {
		b = strconv.AppendFloat(append(b, `,"spent_ms":`...), millis(e.Spent), 'g', -1, 64)
	}
	if e.Saved != 0 {
		b = strconv.AppendFloat(append(b, `,"saved_ms":`...), millis(e.Saved), 'g', -1, 64)
	}
	if e.Bytes != 0 {
		b = strconv.AppendInt(append(b, `,"bytes":`...), e.Bytes, 10)
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
		if b := e.append(make([]byte, 0, 512), n); len(b) < MaxLine {
			return append(b, '\n')
		}
	}
}

// decode reads one line without its line feed. ok is false for anything that is
// not an event.
func decode(b []byte) (e Event, ok bool) {
	l := struct {
		*Event
		SpentMS float64 `json:"spent_ms"`
		SavedMS float64 `json:"saved_ms"`
	}{Event: &e}
	if len(b) >= MaxLine || json.Unmarshal(b, &l) != nil {
		return Event{}, false
	}
	e.Spent, e.Saved, e.Bytes = duration(l.SpentMS), duration(l.SavedMS), max(e.Bytes, 0)
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
