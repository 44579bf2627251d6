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

// specialize takes the binary of a program that was not launched, with code
// for the local sizes of the options, for zero offsets and small grids: what
// nearly all launches are. A kernel that requires a local size gets code for
// that one. It returns nil where the driver gives none: the program works,
// uncached.
func (r *Runtime) specialize(p *Program) *store.Artifact {
	sizes, err := p.localSizes(r.options.SpecializeLocalSizes)
	if err != nil || len(sizes) == 0 {
		return nil
	}
	var all []string
	for _, s := range sizes {
		all = append(all, s...)
	}
	var a *store.Artifact
	err = deferredLaunches.aloneSoon(func() (err error) {
		a, err = p.captureWith(strings.Join(sorted(all), ","))
		return err
	})
	if err != nil {
		return nil
	}
	for kernel, s := range sizes {
		for _, size := range s {
			if v := kernel + "/" + size; holds(a.Binaries[0].Data, v) {
				a.Variants = append(a.Variants, v)
			}
		}
	}
	if len(a.Variants) == 0 {
		return nil
	}
	a.Variants = sorted(a.Variants)
	return a
}

// unlaunched takes the binary of a program that was not launched, as it is; nil
// where the driver gives none.
func (r *Runtime) unlaunched(p *Program) (a *store.Artifact) {
	err := deferredLaunches.aloneSoon(func() (err error) {
		a, err = p.capture()
		return err
	})
	if err != nil {
		return nil
	}
	return a
}

// localSizes names the local sizes that each kernel is to be made for: what it
// requires, else those that are wanted.
func (p *Program) localSizes(wanted [][3]int) (map[string][]string, error) {
	names, err := p.KernelNames()
	if err != nil {
		return nil, err
	}
	sizes := make(map[string][]string, len(names))
	for _, name := range names {
		k, err := p.NewKernel(name)
		if err != nil {
			return nil, err
		}
		w, err := k.WorkGroup()
		if err := errors.Join(err, k.Release()); err != nil {
			return nil, err
		}
		sizes[name] = specializations(wanted)
		if w.Required != [3]int{} {
			sizes[name] = specializations([][3]int{w.Required})
		}
	}
	return sizes, nil
}

// captureWith is capture with a list of the versions to make.
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
