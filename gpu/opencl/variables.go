package opencl

import (
	"cmp"
	"fmt"
	"os"
	"sync"

	"github.com/kernstash/kernstash/deps/flags"
	"github.com/kernstash/kernstash/gpu/opencl/internal/driver"
	"github.com/kernstash/kernstash/internal/drivers"
	"github.com/kernstash/kernstash/key"
)

// rules say which environment variables the platform's compiler obeys.
func (p *Platform) rules() *drivers.Rules { return p.driver().Rules(p.asked()) }

// AgainstOptions returns an error where the words of compile options name a directory from
// which the device's compiler would take what nobody asked it for.
func (d *Device) AgainstOptions(words []string) error {
	rules := d.platform.rules()
	if len(rules.Included) == 0 {
		return nil
	}
	dirs, sure := flags.Directories(words)
	if path := rules.IncludedFrom(dirs); path != "" {
		return fmt.Errorf("%w: %s", drivers.ErrSettings, path)
	} else if !sure {
		return fmt.Errorf("%w, in a directory that is not clear from the options", drivers.ErrSettings)
	}
	return nil
}

// Variables returns the environment variables that the device's compiler obeys
// in this process, sorted by name.
func (d *Device) Variables() []key.Pair {
	return d.platform.rules().Of(d.platform.env.Now())
}

// environAtLoad returns the environment of the first call, which is made before
// the loader loads the drivers, or, where the application did so itself, before
// this package first looks at one.
var environAtLoad = sync.OnceValue(os.Environ)

// SteadyVariables is Variables, with an error if they are not, or once were not,
// those that the process had when the driver was loaded. Drivers read some
// variables once and others at each build, so which values hold is not known then. It is an
// error, too, if the driver obeys a file of settings, or if programs cannot be restored safely
// or not so that nobody sees it.
func (d *Device) SteadyVariables() ([]key.Pair, error) {
	p := d.platform
	k, environ := p.driver(), p.env.Now()
	rules := p.rules()
	steady := k.Steady(p.asked(), environ) // it notes what it is asked about
	now, err := k.seen.Steady(rules, environ, p.variablesAtLoad())
	return now, cmp.Or(err, steady)
}

// LookAtVariables notes which platforms' variables are not those of a process's start, for
// [Device.SteadyVariables]: a compiler is about to compile something that this package was
// not asked about, and may keep what it reads now. start and now are environments as os.Environ
// has them.
func LookAtVariables(start, now []string) {
	_ = drivers.SteadySwitches(now) // it notes them
	for _, k := range knownDrivers {
		rules := k.Rules(driver.Platform{})
		_, _ = k.seen.Steady(rules, now, rules.Of(start))
	}
}
