package drivers

import (
	"errors"
	"strings"

	"github.com/kernstash/kernstash/internal/elfid"
)

// debugger is a library that Intel's driver opens by name when it is loaded, and keeps open
// where that says that a debugger is active. All is compiled for debugging then.
const debugger = "libigfxdbgxchg64.so"

// errDebugger says that Intel's driver compiles for a debugger.
var errDebugger = errors.New("the driver compiles for a debugger that is active: " + debugger)

// notDebugged returns errDebugger where a debugger of Intel's driver was active when the driver
// was loaded.
func notDebugged() error {
	// The dynamic linker is not asked: it may be at work for whoever waits for this answer.
	if len(elfid.Loaded().Named(func(base string) bool { return strings.HasPrefix(base, debugger) })) > 0 {
		return errDebugger
	}
	return nil
}
