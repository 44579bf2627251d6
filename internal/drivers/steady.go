package drivers

import (
	"errors"
	"slices"
	"strings"
	"sync"

	"github.com/kernstash/kernstash/key"
)

// ErrVariables is wrapped where variables changed behind a driver that may have read them.
var ErrVariables = errors.New("environment variables of the compiler changed since the driver was loaded")

// Environments are those of a process that matter to a driver, as os.Environ has them: what it
// was when the driver was loaded, and what it is.
type Environments struct {
	Loaded []string
	Now    func() []string
}

// Seen is what was seen, in a process, of what a driver obeys. Drivers read some variables once
// and others at each build, so which values hold is not known after a change.
type Seen struct {
	mu  sync.Mutex
	err error // why what was seen is not known to hold
}

// Steady returns the variables in environ that the driver obeys, with an error where they are not,
// or once were not, those at its load, or where there is, or was, a file of settings: the driver has
// read it by the next build, if it goes until then.
func (s *Seen) Steady(rules *Rules, environ []string, atLoad []key.Pair) (now []key.Pair, err error) {
	now = rules.Of(environ)
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.err != nil:
	case !slices.Equal(now, atLoad):
		s.err = ErrVariables
	default:
		s.err = rules.Obeyed(environ)
	}
	return now, s.err
}

// switches are the variables under which Intel's compiler was called, or may have been. Both of
// Intel's drivers, of OpenCL and of Level Zero, call the one that the process has loaded, which keeps
// the switches of its first compilation.
var switches struct {
	mu    sync.Mutex
	known bool
	first []string
	err   error // of a call with others
}

// SteadySwitches notes that Intel's compiler may be called in an environment, as os.Environ has
// it, by whichever driver. It returns ErrVariables if its switches are not those of all calls before.
func SteadySwitches(environ []string) error {
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
	if !slices.Equal(now, switches.first) {
		switches.err = ErrVariables
	}
	return switches.err
}
