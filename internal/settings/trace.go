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

// traceNames are the names of masks; the first is of all.
var (
	traceNames = []string{"all", "disk", "memory", "keys"}
	traceMasks = []TraceMask{TraceAll, TraceDisk, TraceMemory, TraceKeys}
)

// Has says whether all bits of of are set.
func (m TraceMask) Has(of TraceMask) bool { return m&of == of }

// String returns the mask as a setting: 0, all, or names with commas.
func (m TraceMask) String() string {
	var names []string
	for i, of := range traceMasks {
		if m.Has(of) {
			names = append(names, traceNames[i])
			m &^= of
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
		i := slices.Index(traceNames, strings.TrimSpace(word))
		if i < 0 {
			return 0, errMalformed
		}
		m |= traceMasks[i]
	}
	return m, nil
}
