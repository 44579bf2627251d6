package settings

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
)

// TraceMask says what is traced.
type TraceMask uint8

// The bits of a TraceMask.
const (
	TraceDisk   TraceMask = 1 << iota // what the disk tier does
	TraceMemory                       // what the memory tier does
	TraceKeys                         // what each key is made of

	TraceAll = TraceDisk | TraceMemory | TraceKeys
)

// traceNames are the names of the bits, in their order.
var traceNames = []string{"disk", "memory", "keys"}

// Has says whether all bits of of are set.
func (m TraceMask) Has(of TraceMask) bool { return m&of == of }

// String returns the mask as a setting: 0, all, or names with commas.
func (m TraceMask) String() string {
	if m == TraceAll {
		return "all"
	}
	var names []string
	for i, name := range traceNames {
		if m.Has(1 << i) {
			names = append(names, name)
		}
	}
	return cmp.Or(strings.Join(names, ","), "0")
}

func parseTrace(text string) (TraceMask, error) {
	if n, err := strconv.ParseUint(text, 10, 8); err == nil && n <= uint64(TraceAll) {
		return TraceMask(n), nil
	}
	var m TraceMask
	for word := range strings.SplitSeq(strings.ToLower(text), ",") {
		word = strings.TrimSpace(word)
		switch i := slices.Index(traceNames, word); {
		case i >= 0:
			m |= 1 << i
		case word == "all":
			m = TraceAll
		default:
			return 0, errMalformed
		}
	}
	return m, nil
}
