package opencl

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"

	"github.com/kernstash/kernstash/store"
)

// specializeVariable is read by PoCL with getenv each time a binary is first
// asked of a program: a list of the versions to make of every kernel.
const specializeVariable = "POCL_BINARY_SPECIALIZE_WG"

// environment guards the variable. os.Setenv reaches the C environment, with
// cgo and without (package dl's tests show it).
var environment sync.Mutex

// errSpecialize is wrapped when a driver did not make the local sizes that it
// was asked for.
var errSpecialize = errors.New("the driver did not make the local sizes asked for")

// specialize takes the binary of a program that was not launched, with code
// for the local sizes of the options, for zero offsets and small grids: what
// nearly all launches are.
func (r *Runtime) specialize(p *Program) (*store.Artifact, error) {
	sizes := specializations(r.options.SpecializeLocalSizes)
	a, err := p.captureWith(strings.Join(sizes, ","))
	if err != nil {
		return nil, fmt.Errorf("build program for local sizes: %w", err)
	}
	for _, k := range a.Kernels {
		for _, s := range sizes {
			if v := k.Name + "/" + s; holds(a.Binaries[0].Data, v) {
				a.Variants = append(a.Variants, v)
			}
		}
	}
	if len(a.Variants) == 0 && len(a.Kernels) > 0 {
		return nil, fmt.Errorf("build program for local sizes: %w: %s", errSpecialize, strings.Join(sizes, ", "))
	}
	a.Variants = sorted(a.Variants)
	return a, nil
}

func (p *Program) captureWith(list string) (*store.Artifact, error) {
	environment.Lock()
	defer environment.Unlock()
	before, set := os.LookupEnv(specializeVariable)
	if err := os.Setenv(specializeVariable, list); err != nil {
		return nil, err
	}
	defer func() {
		if set {
			_ = os.Setenv(specializeVariable, before)
		} else {
			_ = os.Unsetenv(specializeVariable)
		}
	}()
	return p.capture()
}

// specializations names local sizes as PoCL does; a dimension of zero is one.
func specializations(sizes [][3]int) []string {
	var names []string
	for _, s := range sizes {
		names = append(names, fmt.Sprintf("%d-%d-%d-goffs0-smallgrid", max(1, s[0]), max(1, s[1]), max(1, s[2])))
	}
	return sorted(names)
}

// sorted returns names sorted, each once.
func sorted(names []string) []string {
	slices.Sort(names)
	return slices.Compact(names)
}
