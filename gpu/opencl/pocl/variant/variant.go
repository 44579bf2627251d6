// Package variant names the versions of a kernel that a driver which makes code
// at launches (PoCL) makes: one for each local size, and more.
package variant

import (
	"fmt"
	"slices"
	"strings"
)

// Max bounds the variants that one kernel notes; more are not noted,
// and are compiled again in the next process.
const Max = 64

// maxAutos bounds those among them whose local size the driver chose: an
// application that lets it choose may launch a new global size each time.
const maxAutos = 8

// smallGrid is the largest global size in every dimension for which PoCL makes
// a version of its own with narrow arithmetic: what is below USHRT_MAX, whatever
// the offset (seen with PoCL 3.1: 65534 is small, 65535 is not).
const smallGrid = 65534

// launch is what decides which code PoCL makes for a launch.
type launch struct {
	local  [3]uintptr // zero: the driver chose, by the global size
	global [3]uintptr // only where the driver chose
	offset bool       // not zero
	small  bool       // grid
}

// Launches are the variants of a kernel that were launched in this process. It is
// not safe for concurrent use.
type Launches struct {
	seen  map[launch]struct{}
	autos int // those of seen whose local size the driver chose
}

// Note returns the name of a launch's variant the first time, else "". Local is
// nil where the driver chooses, offset nil for zero; dimensions that are not used
// have size one, and offset zero. A launch without work-items has none. Names
// are those of the directories in which PoCL keeps code:
// "kernel/16-16-1-goffs0-smallgrid"; where the driver chose the local size,
// "kernel/auto-1024-1-1-goffs0-smallgrid" with the global size.
func (s *Launches) Note(kernel string, global, local, offset *[3]uintptr) string {
	if slices.Contains(global[:], 0) || local != nil && slices.Contains(local[:], 0) {
		return "" // nothing is executed, or the driver refuses it
	}
	l := launch{small: max(global[0], global[1], global[2]) <= smallGrid}
	if local != nil {
		l.local = *local
	} else {
		l.global = *global
	}
	l.offset = offset != nil && *offset != [3]uintptr{}
	if !s.fresh(l) {
		return ""
	}
	if s.seen == nil {
		s.seen = make(map[launch]struct{})
	}
	s.seen[l] = struct{}{}
	if l.auto() {
		s.autos++
	}
	return l.variant(kernel)
}

// fresh says whether the driver makes code for l: for what it has not, neither
// for l nor for l over a large grid, whose code serves small ones too (seen with
// PoCL 3.1; code for any offset does not serve offset zero there).
func (s *Launches) fresh(l launch) bool {
	if len(s.seen) >= Max || l.auto() && s.autos >= maxAutos {
		return false
	}
	general := l
	general.small = false
	for _, known := range []launch{l, general} {
		if _, ok := s.seen[known]; ok {
			return false
		}
	}
	return true
}

// auto says that the driver chose the local size.
func (l launch) auto() bool { return l.local == [3]uintptr{} }

func (l launch) variant(kernel string) string {
	var b strings.Builder
	size := l.local
	b.WriteString(kernel + "/")
	if l.auto() {
		b.WriteString(Auto)
		size = l.global
	}
	fmt.Fprintf(&b, "%d-%d-%d", size[0], size[1], size[2])
	if !l.offset {
		b.WriteString("-goffs0")
	}
	if l.small {
		b.WriteString("-smallgrid")
	}
	return b.String()
}

// Auto marks the variants whose local size the driver chose: it stands before the
// global size.
const Auto = "auto-"
