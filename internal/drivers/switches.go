package drivers

import (
	"slices"
	"strings"
	"sync"
)

// switches are the variables under which Intel's compiler was called, or may have been. Both of
// Intel's drivers, of OpenCL and of Level Zero, call the one that the process has loaded, which keeps
// the switches of its first compilation.
var switches struct {
	mu    sync.Mutex
	known bool
	first []string
	mixed bool
}

// SteadySwitches notes that Intel's compiler may be called in an environment, as os.Environ has
// it, by whichever driver. It reports whether its switches are those of all calls before.
func SteadySwitches(environ []string) bool {
	var now []string
	for _, e := range environ {
		if strings.HasPrefix(e, "IGC_") {
			now = append(now, e)
		}
	}
	slices.Sort(now)
	switches.mu.Lock()
	defer switches.mu.Unlock()
	if !switches.known {
		switches.known, switches.first = true, now
	}
	switches.mixed = switches.mixed || !slices.Equal(now, switches.first)
	return !switches.mixed
}
