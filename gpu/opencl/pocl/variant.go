package pocl

import (
	"fmt"
	"slices"
)

// maxVariants bounds the variants that one kernel notes; more are not noted,
// and are compiled again in the next process.
const maxVariants = 64

// maxAutos bounds those among them whose local size the driver chose: an
// application that lets it choose may launch a new global size each time.
const maxAutos = 8

// smallGrid is the largest global size in every dimension for which PoCL makes
// a version of its own with narrow arithmetic: what is below USHRT_MAX, whatever
// the offset (seen with PoCL 3.1: 65534 is small, 65535 is not).
const smallGrid = 65534

// auto marks the variants whose local size the driver chose: it stands before the global size.
const auto = "auto-"

// launch is what decides which code PoCL makes for a launch.
type launch struct {
	size   [3]uintptr // local; global where the driver chose
	auto   bool       // the driver chose the local size, by the global one
	offset bool       // not zero
	small  bool       // grid
}

// Launches are the variants of a kernel that were launched in this process: PoCL makes a version
// of the kernel for each local size, and more. It is not safe for concurrent use.
type Launches struct {
	seen  map[launch]struct{}
	autos int // those of seen whose local size the driver chose
}

// Note returns the name of a launch's variant the first time, else "". Local is nil where the
// driver chooses, offset nil for zero; dimensions that are not used have size one, and offset zero.
// A launch without work-items has none. Names are those of the directories in which PoCL keeps
// code: "kernel/16-16-1-goffs0-smallgrid"; where the driver chose the local size,
// "kernel/auto-1024-1-1-goffs0-smallgrid" with the global size.
func (s *Launches) Note(kernel string, global, local, offset *[3]uintptr) string {
	if slices.Contains(global[:], 0) || local != nil && slices.Contains(local[:], 0) {
		return "" // nothing is executed, or the driver refuses it
	}
	l := launch{
		size: *global, auto: local == nil,
		offset: offset != nil && *offset != [3]uintptr{},
		small:  max(global[0], global[1], global[2]) <= smallGrid,
	}
	if local != nil {
		l.size = *local
	}
	// The driver makes no code for what it has, nor for what the code of l over a large grid serves
	// (seen with PoCL 3.1; code for any offset does not serve offset zero there).
	general := l
	general.small = false
	_, known := s.seen[l]
	_, served := s.seen[general]
	if known || served || len(s.seen) >= maxVariants || l.auto && s.autos >= maxAutos {
		return ""
	}
	if s.seen == nil {
		s.seen = make(map[launch]struct{})
	}
	s.seen[l] = struct{}{}
	if l.auto {
		s.autos++
	}
	return l.variant(kernel)
}

func (l launch) variant(kernel string) string {
	name := kernel + "/"
	if l.auto {
		name += auto
	}
	name += fmt.Sprintf("%d-%d-%d", l.size[0], l.size[1], l.size[2])
	if !l.offset {
		name += "-goffs0"
	}
	if l.small {
		name += "-smallgrid"
	}
	return name
}
