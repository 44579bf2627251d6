package opencl

import (
	"slices"

	"github.com/kernstash/kernstash/internal/drivers"
)

// LookAtVariables notes which platforms' variables are not those of a process's start, for
// [Device.SteadyVariables]: a compiler is about to compile something that this package was
// not asked about, and may keep what it reads now (IGC keeps its switches from its first
// compilation). start and now are environments as os.Environ has them.
func LookAtVariables(start, now []string) {
	drivers.SteadySwitches(now)
	for v, rules := range variables {
		if rules == nil {
			continue
		}
		if !changed[v].Load() && !slices.Equal(rules.Of(now), rules.Of(start)) {
			changed[v].Store(true)
		}
		_ = vendor(v).lookForSettings(rules, now)
	}
}
