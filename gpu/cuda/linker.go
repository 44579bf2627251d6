package cuda

import (
	"bytes"
	"context"
	"fmt"
	"unsafe"

	"github.com/kernstash/kernstash"
	"github.com/kernstash/kernstash/internal/dl"
	"github.com/kernstash/kernstash/key"
	"github.com/kernstash/kernstash/store"
)

// Linker makes the driver's compiler a kernstash.Runtime: it finishes PTX to a
// cubin for the context's device, and loads cubins. What it makes depends on the
// driver, which is in the key.
//
// A driver that takes PTX alone (CUDA_FORCE_PTX_JIT) is given the PTX as it is, and nothing is
// stored.
type Linker struct{ context *Context }

var _ kernstash.Runtime[*Module, *Kernel] = (*Linker)(nil)

// NewLinker returns the Linker of a context, which the caller releases after the
// kernstash.Context that uses it is closed.
func NewLinker(c *Context) *Linker { return &Linker{c} }

// Devices returns 1: a CUcontext is on one device.
func (*Linker) Devices() int { return 1 }

// Identify is Device.Identify.
func (l *Linker) Identify(context.Context, int) (key.Device, error) {
	return l.context.device.Identify()
}

// Variables returns the environment variables that the driver's compiler obeys,
// with an error if they changed since the driver was loaded.
func (*Linker) Variables(int) ([]key.Pair, error) { return steadyVariables() }

// Build links the PTX of a job's image.
func (l *Linker) Build(_ context.Context, job kernstash.Job) (*Module, *store.Artifact, error) {
	m, a, err := l.build(job.Recipe)
	if err != nil {
		return nil, nil, fmt.Errorf("link program: %w", err)
	}
	return m, a, nil
}

func (l *Linker) build(r *key.Recipe) (*Module, *store.Artifact, error) {
	h, err := l.context.get()
	if err != nil {
		return nil, nil, err
	}
	if len(r.Constants)+len(r.Options.Attributes) > 0 {
		return nil, nil, fmt.Errorf("%w: PTX has no specialization constants, and no attributes", ErrArgument)
	}
	options, err := jitOptions(append(append([]string(nil), r.Options.Compile...), r.Options.Link...))
	if err != nil {
		return nil, nil, err
	}
	units := r.Image.Units()
	for _, u := range units {
		if u.Kind != key.PTX {
			return nil, nil, fmt.Errorf("%w: the driver links no %v", ErrArgument, u.Kind)
		}
	}
	m := &Module{context: l.context}
	if jitForced() {
		if len(units) > 1 {
			return nil, nil, fmt.Errorf("%w: %d units to link, and a driver that takes PTX alone", ErrArgument, len(units))
		}
		return m, nil, m.load(units[0].Code, options...)
	}
	var cubin []byte
	var log string
	err = current(h, func() (err error) {
		cubin, log, err = link(units, options)
		return err
	})
	if err != nil {
		return nil, nil, diagnose(err, log)
	}
	if err := m.load(cubin); err != nil {
		return nil, nil, err
	}
	m.log = log
	return m, &store.Artifact{
		Binaries: []store.Binary{{Form: store.FormFinal, Data: cubin}}, Log: log, Kernels: entries(cubin),
	}, nil
}

// Load makes a module of a cubin that was linked before.
func (l *Linker) Load(_ context.Context, _ kernstash.Job, a *store.Artifact) (*Module, error) {
	if len(a.Binaries) == 0 || !isCubin(a.Binaries[0].Data) {
		return nil, fmt.Errorf("load program: %w: no cubin", ErrArgument)
	}
	m := &Module{context: l.context}
	if err := m.load(a.Binaries[0].Data); err != nil {
		return nil, fmt.Errorf("load program: %w", err)
	}
	m.log = a.Log
	return m, nil
}

// Kernel makes the kernel of a name.
func (*Linker) Kernel(m *Module, name string) (*Kernel, error) { return m.Kernel(name) }

// ReleaseProgram gives a module back.
func (*Linker) ReleaseProgram(m *Module) { _ = m.Release() }

// ReleaseKernel does nothing: kernels go with their module.
func (*Linker) ReleaseKernel(*Kernel) {}

const inputPTX = 1 // CU_JIT_INPUT_PTX

// link makes a cubin of PTX for the device of the current context. log is what the
// driver's compiler said.
func link(units []key.Unit, options []jitOption) (cubin []byte, log string, err error) {
	j := newJIT(options)
	defer j.unpin()
	var state uintptr
	if err := call("cuLinkCreate_v2", uintptr(len(j.names)), uintptr(addr(j.names)), uintptr(addr(j.values)), uintptr(unsafe.Pointer(&state))); err != nil {
		return nil, j.log(), err
	}
	for i, u := range units {
		ptx, name := terminated(u.Code), dl.CString(fmt.Sprintf("unit %d", i))
		err := call("cuLinkAddData_v2", state, inputPTX, uintptr(addr(ptx)), uintptr(len(ptx)), uintptr(addr(name)), 0, 0, 0)
		if err != nil {
			_ = call("cuLinkDestroy", state)
			return nil, j.log(), err
		}
	}
	var at, size uintptr
	err = call("cuLinkComplete", state, uintptr(unsafe.Pointer(&at)), uintptr(unsafe.Pointer(&size)))
	if err == nil && at != 0 {
		cubin = bytes.Clone(dl.Bytes(at, int(size))) // the link's own until it is destroyed
	}
	if failed := call("cuLinkDestroy", state); err == nil {
		err = failed
	}
	return cubin, j.log(), err
}
