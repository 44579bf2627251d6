package kernstash

import (
	"context"
	"errors"

	"github.com/kernstash/kernstash/internal/engine"
	"github.com/kernstash/kernstash/internal/live"
	"github.com/kernstash/kernstash/key"
)

// Program is a live program for a set of devices. It stays alive until its
// last user releases it or its Context is closed. It is safe for concurrent
// use; whether the runtime's own object is, is the runtime's matter.
type Program[P, K any] live.Program[P, K, *unit[P, K]]

// Origin says where a program in memory came from.
type Origin uint8

// The origins of a program.
const (
	Compiled Origin = 1 // built by the driver's compiler
	Disk     Origin = 2 // loaded from an artifact, on disk or in the process
)

func (o Origin) String() string {
	switch o {
	case Compiled:
		return "compiled"
	case Disk:
		return "disk"
	}
	return "unknown"
}

// ErrDevice is wrapped when a program is asked about a device that it is not
// built for.
var ErrDevice = live.ErrDevice

func (p *Program[P, K]) live() *live.Program[P, K, *unit[P, K]] {
	return (*live.Program[P, K, *unit[P, K]])(p)
}

// Release ends one use of the program. Each Program that a call returned is
// released once; after Context.Close it does nothing.
func (p *Program[P, K]) Release() { p.live().Release() }

// Native returns the runtime's program for a device, by its ordinal in the
// context. It is the Program's: it must not be released, nor used after
// Release.
func (p *Program[P, K]) Native(device int) (P, error) { return p.live().Native(device) }

// Key returns the key of the program for a device, by its ordinal in the
// context; the zero Key if the program cannot be cached or is not built for the
// device.
func (p *Program[P, K]) Key(device int) key.Key {
	u, err := p.live().Unit(device)
	if err != nil {
		return key.Key{}
	}
	return u.Info.group.Job().Key
}

// Launched tells that a kernel was launched in a way, named by variant, that a
// deferring driver may have made code for. Adapters call it at the first
// launch of each variant; it returns at once.
func (p *Program[P, K]) Launched(device int, variant string) {
	if u, err := p.live().Unit(device); err == nil {
		u.Info.x.captures.launched(u.Info, variant)
	}
}

// Origin returns where the program came from when it was made: Disk only if
// that holds for all of its devices.
func (p *Program[P, K]) Origin() Origin {
	for _, u := range p.live().Units() {
		if u.Info.origin != Disk {
			return Compiled
		}
	}
	return Disk
}

// UncacheableReason returns why the program is not stored, for people; empty if it may be.
func (p *Program[P, K]) UncacheableReason() string {
	for _, u := range p.live().Units() {
		if why := u.Info.group.Uncacheable(); !why.None() {
			return why.String()
		}
	}
	return ""
}

// Kernel returns the kernel of a name, on the program's first device. A kernel
// that is there already is found without a lock or an allocation. An error is
// the runtime's: there is no such kernel.
func (p *Program[P, K]) Kernel(ctx context.Context, name string) (*Kernel[P, K], error) {
	k, err := p.live().Kernel(ctx, name)
	return (*Kernel[P, K])(k), err
}

// KernelOn returns the kernel of a name on a device, by its ordinal in the
// context.
func (p *Program[P, K]) KernelOn(ctx context.Context, device int, name string) (*Kernel[P, K], error) {
	k, err := p.live().KernelOn(ctx, device, name)
	return (*Kernel[P, K])(k), err
}

// Kernel is a live kernel of a Program, for one device. It holds its program;
// call Release when done. Goroutines that ask for the same kernel share one.
type Kernel[P, K any] live.Kernel[P, K, *unit[P, K]]

func (k *Kernel[P, K]) live() *live.Kernel[P, K, *unit[P, K]] {
	return (*live.Kernel[P, K, *unit[P, K]])(k)
}

// Native returns the runtime's kernel. It is the Kernel's: it must not be
// released, nor used after Release.
func (k *Kernel[P, K]) Native() K { return k.live().Native() }

// Name returns the kernel's name.
func (k *Kernel[P, K]) Name() string { return k.live().Name() }

// Program returns the program that the kernel belongs to, without a use of its
// own.
func (k *Kernel[P, K]) Program() *Program[P, K] { return (*Program[P, K])(k.live().Program()) }

// Device returns the ordinal of the device that the kernel was asked for.
func (k *Kernel[P, K]) Device() int { return k.live().Device() }

// Release ends one use of the kernel, and of its program with it.
func (k *Kernel[P, K]) Release() { k.live().Release() }

// unit is how a unit of the memory tier was made.
type unit[P, K any] struct {
	x      *Context[P, K]
	live   *live.Unit[P, K, *unit[P, K]]
	group  *engine.Group
	origin Origin

	capture captureState // guarded by the mutex of x.captures
}

// objects are the live objects of a Context.
type objects[P, K any] struct {
	Runtime[P, K]
	x *Context[P, K]
}

func (o objects[P, K]) Unused(u *live.Unit[P, K, *unit[P, K]]) {
	if u.Info != nil {
		o.x.captures.abandon(u.Info)
	}
}

func (o objects[P, K]) Evicted(p *live.Program[P, K, *unit[P, K]]) {
	l := o.x.cache.Loggers().Memory
	if l == nil {
		return
	}
	label := p.ID().What.String()[:12]
	if all := p.Units(); len(all) > 0 {
		label = all[0].Info.group.Label()
	}
	l.Debug("evicted", "program", label)
}

// Final reports what the compiler says of a program: it will say it again.
func (objects[P, K]) Final(err error) bool {
	var diagnostic *BuildError
	return errors.As(err, &diagnostic)
}

func (o objects[P, K]) Exhausted(err error) bool {
	if !errors.Is(err, ErrOutOfResources) {
		return false
	}
	o.x.cache.Warn("out of resources, memory tier cleared", "error", err.Error())
	return true
}
