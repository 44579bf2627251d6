package entries

import (
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

// lookupItem is a piece of a lookup.
type lookupItem struct {
	kind byte
	data []byte
}

// lookupOf reads the image of a lookup; nil where it is none.
func lookupOf(r *key.Recipe) *lookupReport {
	units := r.Image.Units()
	if len(units) != 1 || units[0].Kind != key.Opaque {
		return nil
	}
	rest, ok := strings.CutPrefix(string(units[0].Code), lookupMagic)
	var out lookupReport
	for range 4 {
		var piece []byte
		if piece, rest, ok = cutLength([]byte(rest), ok); !ok {
			return nil
		}
		for len(piece) > 0 {
			item := lookupItem{kind: piece[0]}
			var left string
			if item.data, left, ok = cutLength(piece[1:], true); !ok || !out.take(item) {
				return nil
			}
			piece = []byte(left)
		}
	}
	return &out
}

// cutLength cuts what begins with its length, in eight bytes.
func cutLength(b []byte, is bool) (data []byte, rest string, ok bool) {
	if !is || len(b) < 8 {
		return nil, "", false
	}
	n := binary.LittleEndian.Uint64(b)
	if n > uint64(len(b)-8) {
		return nil, "", false
	}
	return b[8 : 8+n], string(b[8+n:]), true
}

// take adds an item; false: it is of no kind that is known.
func (l *lookupReport) take(i lookupItem) bool {
	text := string(i.data)
	number := func() uint64 { return binary.LittleEndian.Uint64(i.data) }
	switch {
	case i.kind == 'p':
		l.Program = text
	case i.kind == 'c':
		l.Context = len(i.data)
	case i.kind == 's':
		l.Sources = append(l.Sources, len(i.data))
	case i.kind == 'l':
		l.Libraries = append(l.Libraries, text)
	case i.kind == 'v' && len(l.Libraries) > 0:
		l.Libraries[len(l.Libraries)-1] += " " + text
	case i.kind == 'i' && len(i.data) == 8:
		l.Variants = append(l.Variants, strconv.FormatInt(int64(number()), 10))
	case i.kind == 'd' && len(i.data) == 8:
		l.Variants = append(l.Variants, strconv.FormatFloat(math.Float64frombits(number()), 'g', -1, 64))
	case i.kind == 't':
		l.Variants = append(l.Variants, strconv.Quote(text))
	case i.kind == 'b':
		l.Variants = append(l.Variants, fmt.Sprintf("%d bytes", len(i.data)))
	case i.kind == 'o':
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
