package levelzero

import (
	"cmp"
	"os"
	"sync"

	"github.com/kernstash/kernstash/internal/drivers"
	"github.com/kernstash/kernstash/key"
)

// environAtLoad returns the environment of the first call, which is made before the loader loads the
// drivers, or, where the application did so itself, before this package first looks at one.
var environAtLoad = sync.OnceValue(os.Environ)

// seen is what was seen of what the driver obeys.
var seen drivers.Seen

// Variables returns the environment variables that the device's compiler obeys in
// this process, sorted by name.
func (d *Device) Variables() []key.Pair { return variables.Of(d.driver.env.Now()) }

// SteadyVariables is Variables, with an error if they are not, or once were not, those
// that the process had when the driver was loaded. Drivers read some variables once
// and others at each build, so which values hold is not known then. It is an error, too,
// if the driver obeys a file of settings.
func (d *Device) SteadyVariables() ([]key.Pair, error) {
	environ := d.driver.env.Now()
	steady := drivers.SteadySwitches(environ)
	now, err := seen.Steady(&variables, environ, d.driver.variablesAtLoad())
	return now, cmp.Or(err, steady)
}
