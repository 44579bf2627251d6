package levelzero

import (
	"errors"
	"fmt"
)

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

func (p *Program) kernels(name string) (*Kernels, error) {
	k := &Kernels{}
	for _, m := range p.modules {
		one, err := m.NewKernel(name)
		if err != nil {
			return nil, errors.Join(err, k.release())
		}
		k.all = append(k.all, one)
	}
	return k, nil
}

func (k *Kernels) release() error { return releaseAll(k.all) }

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
