// Package records is what processes leave about what they asked the cache for: which entry was
// used how often, and each miss with what came of it. A [Log] gathers it in memory, and hands over
// lines that the store appends to a file. Commands read and merge these files; docs/FORMAT.md has
// the lines.
package records

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"hash/crc32"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/kernstash/kernstash/internal/human"
	"github.com/kernstash/kernstash/key"
)

// Version is that of the lines, and a part of the names of files.
const Version = 1

// Kind is what a line tells of.
type Kind string

// The kinds of lines.
const (
	Hits Kind = "hits" // an entry was loaded from a store: Entry, Hits, Saved, Since
	Miss Kind = "miss" // something was compiled: all but Hits, Saved and Since
	Gone Kind = "gone" // an entry was removed: Entry, of which only Place is known, and Reason
)

// Reasons of Gone.
const (
	Evicted = "evicted"
	Damaged = "damaged"
	Old     = "not used for long"
)

// Line is one record. Texts are cut where they are long.
type Line struct {
	Kind  Kind
	At    time.Time // to the second; of Hits the last one
	App   string    // see Name
	Entry Entry     // zero: what was asked for cannot be cached

	Hits  int64
	Saved time.Duration // the recorded costs of the builds, less what loading took
	Since time.Time     // the first of the hits

	Cost    time.Duration // of the build
	Label   string        // what people know the program by
	Device  string
	API     string
	Reason  string
	Nearest string // what the nearest entry differs in; "": that was not looked for, or nothing is near
}

// Place is where an entry is: the first halves of the digests of device, image, constants and options.
type Place [64]byte

// Path returns the directory of the place in a root.
func (p Place) Path() string {
	digits := hex.EncodeToString(p[:])
	return strings.Join([]string{digits[:32], digits[32:64], digits[64:96], digits[96:]}, "/")
}

// PlaceOf returns the place of a key.
func PlaceOf(k key.Key) (p Place) {
	for i, d := range []key.Digest{k.Device, k.Image, k.Constants, k.Options} {
		copy(p[16*i:], d[:16])
	}
	return p
}

// Entry names an entry: by its key, or by its place alone.
type Entry struct {
	Place Place
	Key   key.Key // zero: only the place is known
}

// EntryOf returns the entry of a key.
func EntryOf(k key.Key) Entry {
	if k.IsZero() {
		return Entry{}
	}
	return Entry{PlaceOf(k), k}
}

// IsZero reports whether e names nothing.
func (e Entry) IsZero() bool { return e == Entry{} }

// MarshalText writes the digests of the key, or the place, in base64.
func (e Entry) MarshalText() ([]byte, error) {
	var b []byte
	switch k := e.Key; {
	case !k.IsZero():
		b = bytes.Join([][]byte{k.Device[:], k.Image[:], k.Constants[:], k.Options[:]}, nil)
	case !e.IsZero():
		b = e.Place[:]
	}
	return base64.RawURLEncoding.AppendEncode(nil, b), nil
}

var errEntry = errors.New("neither a key nor a place")

// UnmarshalText reads what MarshalText wrote.
func (e *Entry) UnmarshalText(text []byte) error {
	b, err := base64.RawURLEncoding.Strict().AppendDecode(nil, text)
	const digest = len(key.Digest{})
	switch {
	case err != nil:
		return err
	case len(b) == 4*digest:
		at := func(i int) key.Digest { return key.Digest(b[digest*i : digest*(i+1)]) }
		*e = EntryOf(key.New(at(0), at(1), at(2), at(3)))
	case len(b) == len(Place{}):
		*e = Entry{Place: Place(b)}
	case len(b) == 0:
		*e = Entry{}
	default:
		return errEntry
	}
	return nil
}

// written is a line as it is written.
type written struct {
	Kind    Kind   `json:"kind"`
	At      int64  `json:"at"` // in seconds since 1970
	App     string `json:"app,omitempty"`
	Entry   Entry  `json:"entry,omitzero"`
	Hits    int64  `json:"hits,omitempty"`
	Saved   int64  `json:"saved_us,omitempty"`
	Since   int64  `json:"since,omitempty"`
	Cost    int64  `json:"cost_us,omitempty"`
	Label   string `json:"label,omitempty"`
	Device  string `json:"device,omitempty"`
	API     string `json:"api,omitempty"`
	Reason  string `json:"reason,omitempty"`
	Nearest string `json:"nearest,omitempty"`
}

// maxLine bounds a line, its end included.
const maxLine = 4096

// maxText bounds a text, in bytes; in a line that is too long for all that, all are cut further.
const maxText = 512

// checksum returns the sum at the end of a line. Its table is made at the first call, as that takes 0.2 ms
// of a process's start.
func checksum(text []byte) uint32 { return crc32.Checksum(text, crc32.MakeTable(crc32.Castagnoli)) }

// Append appends a line to b.
func (l *Line) Append(b []byte) []byte {
	for n := maxText; ; n /= 2 {
		w := written{
			Kind: l.Kind, At: l.At.Unix(), App: cut(l.App, min(n, maxName)), Entry: l.Entry, Hits: l.Hits,
			Saved: l.Saved.Microseconds(), Cost: l.Cost.Microseconds(),
			Label: clean(human.CutLabel(l.Label, n)), Device: cut(l.Device, n), API: cut(l.API, maxName), Reason: cut(l.Reason, n), Nearest: cut(l.Nearest, n),
		}
		if !l.Since.IsZero() {
			w.Since = l.Since.Unix()
		}
		text, err := json.Marshal(w)
		if err != nil {
			return b // there is no error
		}
		if len(text)+len("12345678 \n") > maxLine && n > 1 {
			continue
		}
		sum := checksum(text)
		b = append(b, hex.EncodeToString([]byte{byte(sum >> 24), byte(sum >> 16), byte(sum >> 8), byte(sum)})...)
		b = append(append(b, ' '), text...)
		return append(b, '\n')
	}
}

// cut returns at most n bytes of s, whole characters that can be printed.
func cut(s string, n int) string {
	if len(s) > n {
		const dots = "…"
		if n < len(dots) {
			return ""
		}
		n -= len(dots)
		for n > 0 && !utf8.RuneStart(s[n]) {
			n--
		}
		s = s[:n] + dots
	}
	return clean(s)
}

// clean returns s with what cannot be printed replaced.
func clean(s string) string {
	return strings.Map(func(r rune) rune {
		if r == utf8.RuneError || !unicode.IsPrint(r) {
			return '?'
		}
		return r
	}, s)
}

// Parse calls f with each line of a file that is whole. Whatever else is there is skipped.
func Parse(b []byte, f func(Line)) {
	for text := range bytes.SplitSeq(b, []byte("\n")) {
		if l, ok := parse(text); ok {
			f(l)
		}
	}
}

func parse(b []byte) (Line, bool) {
	digits, text, ok := bytes.Cut(b, []byte(" "))
	if !ok || len(digits) != 8 || len(b) >= maxLine {
		return Line{}, false
	}
	sum, err := strconv.ParseUint(string(digits), 16, 32)
	if err != nil || uint32(sum) != checksum(text) {
		return Line{}, false
	}
	var w written
	if json.Unmarshal(text, &w) != nil {
		return Line{}, false
	}
	const most = int64(365 * 24 * time.Hour / time.Microsecond)
	known := w.Kind == Miss || !w.Entry.IsZero() && (w.Kind == Gone || w.Kind == Hits && w.Hits > 0 && !w.Entry.Key.IsZero())
	if !known || w.Hits < 0 || w.Hits > 1<<40 || w.Saved < -most || w.Saved > most || w.Cost < 0 || w.Cost > most ||
		w.At < 0 || w.At > 1<<36 || w.Since < 0 || w.Since > 1<<36 || w.Entry.Key.IsZero() && w.Kind == Miss && !w.Entry.IsZero() {
		return Line{}, false
	}
	l := Line{
		Kind: w.Kind, At: time.Unix(w.At, 0), App: cut(w.App, maxName), Entry: w.Entry, Hits: w.Hits,
		Saved: time.Duration(w.Saved) * time.Microsecond, Since: time.Unix(w.At, 0), Cost: time.Duration(w.Cost) * time.Microsecond,
		Label: clean(human.CutLabel(w.Label, maxText)), Device: cut(w.Device, maxText), API: cut(w.API, maxName), Reason: cut(w.Reason, maxText), Nearest: cut(w.Nearest, maxText),
	}
	if w.Since > 0 && w.Since < w.At {
		l.Since = time.Unix(w.Since, 0)
	}
	return l, true
}
