package settings

import (
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

type traceName struct {
	bit  TraceMask
	name string
}

var traceNames = []traceName{{TraceAll, "all"}, {TraceDisk, "disk"}, {TraceMemory, "memory"}, {TraceKeys, "keys"}}

// Has says whether all bits of of are set.
func (m TraceMask) Has(of TraceMask) bool { return m&of == of }

// String returns the mask as a setting: 0, all, or names with commas.
func (m TraceMask) String() string {
	var names []string
	for _, t := range traceNames {
		if m.Has(t.bit) {
			names = append(names, t.name)
			m &^= t.bit
		}
	}
	if names == nil {
		return "0"
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
	for word := range strings.SplitSeq(strings.ToLower(text), ",") {
		i := slices.IndexFunc(traceNames, func(t traceName) bool { return t.name == strings.TrimSpace(word) })
		if i < 0 {
			return 0, errMalformed
		}
		m |= traceNames[i].bit
	}
	return m, nil
}
