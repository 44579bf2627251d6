package settings

import (
	"fmt"
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

var traceNames = []struct {
	bit  TraceMask
	name string
}{{TraceDisk, "disk"}, {TraceMemory, "memory"}, {TraceKeys, "keys"}}

// Has says whether all bits of of are set.
func (m TraceMask) Has(of TraceMask) bool { return m&of == of }

// String returns the mask as a setting: 0, all, or names with commas.
func (m TraceMask) String() string {
	switch m & TraceAll {
	case 0:
		return "0"
	case TraceAll:
		return "all"
	}
	var names []string
	for _, t := range traceNames {
		if m.Has(t.bit) {
			names = append(names, t.name)
		}
	}
	return strings.Join(names, ",")
}

func parseTrace(text string) (TraceMask, error) {
	if n, err := strconv.ParseUint(text, 10, 8); err == nil {
		if m := TraceMask(n); m&^TraceAll == 0 {
			return m, nil
		}
		return 0, errMalformed
	}
	var m TraceMask
words:
	for word := range strings.SplitSeq(text, ",") {
		word = strings.ToLower(strings.TrimSpace(word))
		if word == "all" {
			m = TraceAll
			continue
		}
		for _, t := range traceNames {
			if word == t.name {
				m |= t.bit
				continue words
			}
		}
		return 0, fmt.Errorf("%q: %w", word, errMalformed)
	}
	return m, nil
}
