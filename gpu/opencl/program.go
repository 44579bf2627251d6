package opencl

import (
	"errors"
	"fmt"
	"strings"

	"github.com/kernstash/kernstash/gpu/opencl/internal/cl"
	"github.com/kernstash/kernstash/store"
)

// Program is a built cl_program for one device of a context, or for several
// equal ones.
type Program struct {
	context  *Context
	devices  []*Device // what it is built for
	log      string
	deferred bool // its driver makes code at launches
	object
}

// Handle returns the cl_program; zero once it is released.
func (p *Program) Handle() uintptr { return p.handle.Load() }

// Log returns the build log, warnings included.
func (p *Program) Log() string { return p.log }

// KernelNames returns the names of the program's kernels in the driver's
// order.
func (p *Program) KernelNames() ([]string, error) {
	h, err := p.get()
	if err != nil {
		return nil, fmt.Errorf("list kernels: %w", err)
	}
	b, err := cl.GetProgramInfo(cl.ProgramID(h), cl.ProgramKernelNames)
	if err != nil {
		return nil, fmt.Errorf("list kernels: %w", err)
	}
	names := text(b, nil)
	if names == "" {
		return nil, nil
	}
	return strings.Split(names, ";"), nil
}

// Binary returns the driver's binary of the program; empty where there is none.
// On a driver that makes code at launches (PoCL) the first call compiles every
// kernel in a generic form, blocks all launches of the process meanwhile, and
// fixes the answer for the life of the program. It waits there until nothing is
// under way on the queues of this package; where launches follow each other
// without a pause for a second, the error wraps kernstash.ErrBusy.
func (p *Program) Binary() (binary []byte, err error) {
	if !p.deferred {
		return p.binary()
	}
	err = deferredLaunches.aloneSoon(func() (err error) {
		binary, err = p.binary()
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("get binary: %w", err)
	}
	return binary, nil
}

// binary is Binary; launches of a deferring driver must not be under way.
func (p *Program) binary() ([]byte, error) {
	h, err := p.get()
	if err != nil {
		return nil, fmt.Errorf("get binary: %w", err)
	}
	b, err := cl.GetProgramBinary(cl.ProgramID(h), p.devices[0].id())
	if err != nil {
		return nil, fmt.Errorf("get binary: %w", resources(err))
	}
	return b, nil
}

// Release gives the program back, its kernels having gone before.
func (p *Program) Release() error {
	return p.release(func(h uintptr) error { return cl.ReleaseProgram(cl.ProgramID(h)) })
}

// describe returns the program's kernels with what the driver tells of their
// arguments, which is nothing where it was not compiled to tell.
func (p *Program) describe() ([]store.Kernel, error) {
	h, err := p.get()
	if err != nil {
		return nil, err
	}
	ids, err := cl.CreateKernelsInProgram(cl.ProgramID(h))
	if err != nil {
		return nil, fmt.Errorf("describe kernels: %w", resources(err))
	}
	kernels := make([]store.Kernel, len(ids))
	for i, id := range ids {
		kernels[i] = describeKernel(id)
		err = errors.Join(err, cl.ReleaseKernel(id))
	}
	return kernels, err
}

func describeKernel(id cl.KernelID) store.Kernel {
	k := store.Kernel{
		Name:       text(cl.GetKernelInfo(id, cl.KernelFunctionName)),
		Attributes: text(cl.GetKernelInfo(id, cl.KernelAttributes)),
	}
	n, _ := number(cl.GetKernelInfo(id, cl.KernelNumArgs))
	for i := range int(n) {
		address, ok := number(cl.GetKernelArgInfo(id, i, cl.KernelArgAddressQualifier))
		if !ok {
			k.Args = nil
			break
		}
		a := store.Arg{
			Name:     text(cl.GetKernelArgInfo(id, i, cl.KernelArgName)),
			TypeName: text(cl.GetKernelArgInfo(id, i, cl.KernelArgTypeName)),
			Address:  address,
		}
		a.Access, _ = number(cl.GetKernelArgInfo(id, i, cl.KernelArgAccessQualifier))
		a.TypeQual, _ = number(cl.GetKernelArgInfo(id, i, cl.KernelArgTypeQualifier))
		k.Args = append(k.Args, a)
	}
	return k
}
