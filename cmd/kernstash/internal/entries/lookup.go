package entries

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/kernstash/kernstash/internal/human"
	"github.com/kernstash/kernstash/key"
)

// lookupReport is what a program asked for through the C library (docs/C.md, "What the
// key is made of").
type lookupReport struct {
	Program   string   `json:"program"`
	Context   int      `json:"context_bytes,omitempty"`
	Libraries []string `json:"libraries,omitempty"` // name and version
	Sources   []int    `json:"source_bytes,omitempty"`
	Variants  []string `json:"variants,omitempty"` // options are those of the recipe
}

// lookupMagic begins the image of such a lookup.
const lookupMagic = "kernstash lookup 1\x00"

// lookupOf reads the image of a lookup; nil where it is none.
func lookupOf(r *key.Recipe) *lookupReport {
	units := r.Image.Units()
	if len(units) != 1 || units[0].Kind != key.Opaque {
		return nil
	}
	rest, ok := bytes.CutPrefix(units[0].Code, []byte(lookupMagic))
	var out lookupReport
	for range 4 {
		var items, data []byte
		items, rest, ok = cutLength(rest, ok)
		for ok && len(items) > 0 {
			kind := items[0]
			if data, items, ok = cutLength(items[1:], true); ok {
				ok = out.take(kind, data)
			}
		}
	}
	if !ok {
		return nil
	}
	return &out
}

// cutLength cuts what begins with its length, in eight bytes.
func cutLength(b []byte, is bool) (data, rest []byte, ok bool) {
	if !is || len(b) < 8 {
		return nil, nil, false
	}
	n := binary.LittleEndian.Uint64(b)
	if n > uint64(len(b)-8) {
		return nil, nil, false
	}
	return b[8 : 8+n], b[8+n:], true
}

// take adds an item; false: it is of no kind that is known.
func (l *lookupReport) take(kind byte, data []byte) bool {
	text := string(data)
	number := func() uint64 { return binary.LittleEndian.Uint64(data) }
	switch {
	case kind == 'p':
		l.Program = text
	case kind == 'c':
		l.Context = len(data)
	case kind == 's':
		l.Sources = append(l.Sources, len(data))
	case kind == 'l':
		l.Libraries = append(l.Libraries, text)
	case kind == 'v' && len(l.Libraries) > 0:
		l.Libraries[len(l.Libraries)-1] += " " + text
	case kind == 'i' && len(data) == 8:
		l.Variants = append(l.Variants, strconv.FormatInt(int64(number()), 10))
	case kind == 'd' && len(data) == 8:
		l.Variants = append(l.Variants, strconv.FormatFloat(math.Float64frombits(number()), 'g', -1, 64))
	case kind == 't':
		l.Variants = append(l.Variants, strconv.Quote(text))
	case kind == 'b':
		l.Variants = append(l.Variants, fmt.Sprintf("%d bytes", len(data)))
	case kind == 'o':
	default:
		return false
	}
	return true
}

// writeLookup prints what was asked for.
func writeLookup(line func(string, string, ...any), l *lookupReport) {
	line("program", "%s, through the C library", l.Program)
	for _, library := range l.Libraries {
		line("library", "%s", library)
	}
	for _, n := range l.Sources {
		line("source", "%s", human.Size(int64(n)))
	}
	if l.Context > 0 {
		line("context", "%s", human.Size(int64(l.Context)))
	}
	if len(l.Variants) > 0 {
		line("variants", "%s", strings.Join(l.Variants, ", "))
	}
}
