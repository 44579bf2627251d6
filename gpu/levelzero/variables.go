package levelzero

import (
	"errors"
	"os"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/kernstash/kernstash/internal/drivers"
	"github.com/kernstash/kernstash/key"
)

// environments are those of a process that matter to a driver: what it was when
// the driver was loaded, and what it is.
type environments struct {
	loaded []string
	now    func() []string
}

// environAtLoad returns the environment of the first call, which is made before the
// loader loads the drivers, or, where the application did so itself, before this
// package first looks at one.
var environAtLoad = sync.OnceValue(os.Environ)

// errVariables is wrapped when variables changed behind a driver that may have read
// them.
var errVariables = errors.New("environment variables of the compiler changed since the driver was loaded")

// changed says that they did, in this process.
var changed atomic.Bool

// obeyed says that there were files of settings that the compiler may have read, in this
// process; nil: there were none.
var obeyed atomic.Pointer[error]

// Variables returns the environment variables that the device's compiler obeys in
// this process, sorted by name.
func (d *Device) Variables() []key.Pair { return variables.Of(d.driver.env.now()) }

// SteadyVariables is Variables, with an error if they are not, or once were not, those
// that the process had when the driver was loaded. Drivers read some variables once
// and others at each build, so which values hold is not known then. It is an error, too,
// if the driver obeys a file of settings.
func (d *Device) SteadyVariables() ([]key.Pair, error) {
	now := d.Variables()
	if steady := drivers.SteadySwitches(d.driver.env.now()); !steady || !slices.Equal(now, d.driver.variablesAtLoad()) {
		changed.Store(true)
	}
	if changed.Load() {
		return now, errVariables
	}
	// The driver has read it by the next build, if it goes until then.
	if err := variables.Obeyed(d.driver.env.now()); err != nil {
		obeyed.CompareAndSwap(nil, &err)
	}
	if err := obeyed.Load(); err != nil {
		return now, *err
	}
	return now, nil
}
