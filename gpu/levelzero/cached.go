package levelzero

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/kernstash/kernstash"
	"github.com/kernstash/kernstash/key"
)

// CachedProgram is a program that a cache holds, for some of its context's devices. Its Kernel
// is that of a name on the first of them, and on those that are equal to it.
type CachedProgram = kernstash.Program[*Program, *Kernels]

// CachedKernel is a kernel of a CachedProgram. Goroutines that ask for the same kernel
// share the driver's one, and their launches follow each other.
type CachedKernel = kernstash.Kernel[*Program, *Kernels]

// Cached is a Context whose programs come from a cache: from memory, else from disk,
// else from the compiler. Its methods for programs are those of kernstash.Context. No flags
// are empty flags to the drivers: NoOptions of a request is to be left false.
//
// Modules of a program that import are not to be linked: others may hold the same one. Make
// these with NewModule.
type Cached struct {
	*Context
	*programs
	own bool // the Context goes with it
}

// programs is a memory tier.
type programs = kernstash.Context[*Program, *Kernels]

// NewContext opens a context on devices of one driver, and puts cache before its
// compiler. The caller closes it, before the cache.
func NewContext(cache *kernstash.Cache, devices ...*Device) (*Cached, error) {
	c, err := Open(devices...)
	if err != nil {
		return nil, err
	}
	x := NewCached(cache, c, kernstash.ContextOptions{})
	x.own = true
	return x, nil
}

// NewCached puts cache before the compiler of a context that the caller has opened or
// adopted, and releases after closing what this returns.
func NewCached(cache *kernstash.Cache, c *Context, o kernstash.ContextOptions) *Cached {
	return &Cached{Context: c, programs: kernstash.NewContext(cache, NewRuntime(c), o)}
}

// Close waits for builds in flight, and releases all programs and kernels, held or not.
// A context that NewContext opened is released with it.
func (x *Cached) Close() error {
	err := x.programs.Close()
	if x.own {
		err = errors.Join(err, x.Context.Release())
	}
	return err
}

// Program is what a request becomes: a module on each of some equal devices.
type Program struct {
	modules []*Module
	log     string
}

// Log returns the build log.
func (p *Program) Log() string { return p.log }

// Module returns the program's module on a device; nil where it is for others. It must
// not be released.
func (p *Program) Module(d *Device) *Module {
	for _, m := range p.modules {
		if m.device == d {
			return m
		}
	}
	return nil
}

// release gives the modules back.
func (p *Program) release() error { return releaseAll(p.modules) }

func releaseAll[T interface{ Release() error }](all []T) (err error) {
	for _, one := range all {
		err = errors.Join(err, one.Release())
	}
	return err
}

// Kernels are the kernels of one name, on each device of a program.
type Kernels struct {
	all []*Kernel
}

// Launch is Kernel.Launch, on the list's device.
func (k *Kernels) Launch(l *List, items [3]int, args ...any) error {
	one, err := k.On(l.device)
	if err != nil {
		return err
	}
	return one.Launch(l, items, args...)
}

// LaunchRange is Kernel.LaunchRange, on the list's device.
func (k *Kernels) LaunchRange(l *List, r Range, args ...any) error {
	one, err := k.On(l.device)
	if err != nil {
		return err
	}
	return one.LaunchRange(l, r, args...)
}

// On returns the kernel on a device. It must not be released, nor used after the CachedKernel.
func (k *Kernels) On(d *Device) (*Kernel, error) {
	for _, one := range k.all {
		if one.module.device == d {
			return one, nil
		}
	}
	return nil, fmt.Errorf("%w: the program is not built for that device", ErrArgument)
}

// An image of several modules holds them in an order of its own, so that equal sets are equal
// images. The driver lists kernels in the order in which it was given their modules, which an
// application may go by: another order than the image's is an attribute.

const attrOrder = "module order"

// Order returns the attribute of a request that says in which order the modules of an
// image are linked: that of codes, which are all of them. It is nil for the image's own.
func Order(image *key.Image, codes [][]byte) []key.Pair {
	units := image.Units()
	used := make([]bool, len(units))
	order := make([]int, 0, len(codes))
	for _, code := range codes {
		for i := range units {
			if !used[i] && bytes.Equal(units[i].Code, code) {
				used[i] = true
				order = append(order, i)
				break
			}
		}
	}
	if slices.IsSorted(order) {
		return nil
	}
	words := make([]string, len(order))
	for i, n := range order {
		words[i] = strconv.Itoa(n)
	}
	return []key.Pair{{Name: attrOrder, Value: strings.Join(words, ",")}}
}

// orderOf returns the order of n modules. It is the only attribute that there is, and
// there are no link options.
func orderOf(o key.BuildOptions, n int) ([]int, error) {
	order := make([]int, n)
	for i := range order {
		order[i] = i
	}
	switch {
	case len(o.Link) > 0:
		return nil, fmt.Errorf("%w: link options %q: Level Zero has none", ErrArgument, o.Link)
	case len(o.Attributes) == 0:
		return order, nil
	}
	text, ok := key.Attribute(o.Attributes, attrOrder)
	words := strings.Split(text, ",")
	if !ok || len(o.Attributes) > 1 || len(words) != n {
		return nil, fmt.Errorf("%w: attributes %q of %d modules", ErrArgument, o.Attributes, n)
	}
	seen := make([]bool, n)
	for i, w := range words {
		at, err := strconv.Atoi(w)
		if err != nil || at < 0 || at >= n || seen[at] {
			return nil, fmt.Errorf("%w: order %q of %d modules", ErrArgument, text, n)
		}
		order[i], seen[at] = at, true
	}
	return order, nil
}
