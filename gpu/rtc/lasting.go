package rtc

import (
	"slices"
	"strings"
	"sync"

	"github.com/kernstash/kernstash"
	"github.com/kernstash/kernstash/internal/dl"
)

// restricted holds the addresses of the CompileProgram of the libraries that have compiled with --restrict here.
// NVRTC 12.4 and 13.0 then take it for given in all later compiles of the process, 11.8 does not
// (TestOptionsDoNotLast): what they make without it is not what another process makes.
var restricted sync.Map

// errRestricted says why what is made after that is not kept.
var errRestricted = &kernstash.UnfitError{Why: "NVRTC goes on with --restrict of an earlier compile"}

func restricts(options []string) bool {
	return slices.ContainsFunc(options, func(o string) bool { return strings.HasPrefix(strings.TrimLeft(o, "-"), "res") })
}

// compiling notes, before a compile, what it is given; compile is the address of the library's function.
func compiling(compile dl.Func, options []string) {
	if restricts(options) {
		restricted.Store(compile, true)
	}
}

// isRestricted reports whether a compile that has ended may have been made with --restrict, which it was not given.
func isRestricted(compile dl.Func, options []string) bool {
	_, before := restricted.Load(compile)
	return before && !restricts(options)
}
