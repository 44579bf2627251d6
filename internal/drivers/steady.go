package drivers

import (
	"errors"
	"slices"
	"sync/atomic"

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
	changed atomic.Bool           // the variables did
	obeyed  atomic.Pointer[error] // there was a file of settings; nil: there was none
}

// Steady returns an error where the variables that the driver obeys are not, or once were not,
// those at its load, or where there is, or was, a file of settings: the driver has read it by
// the next build, if it goes until then. now are the variables in environ.
func (s *Seen) Steady(rules *Rules, environ []string, now, atLoad []key.Pair) error {
	if !slices.Equal(now, atLoad) {
		s.changed.Store(true)
	}
	if s.obeyed.Load() == nil {
		if err := rules.Obeyed(environ); err != nil {
			s.obeyed.CompareAndSwap(nil, &err)
		}
	}
	if s.changed.Load() {
		return ErrVariables
	}
	if err := s.obeyed.Load(); err != nil {
		return *err
	}
	return nil
}
