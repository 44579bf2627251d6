package opencl

import (
	"fmt"
	"strings"

	"github.com/kernstash/kernstash/gpu/opencl/internal/cl"
	"github.com/kernstash/kernstash/gpu/opencl/internal/driver"
	"github.com/kernstash/kernstash/store"
)

// Program is a built cl_program for one device of a context, or for several
// equal ones.
type Program struct {
	devices []*Device // what it is built for
	log     string
	defers  driver.Deferrer // its driver, if that makes code at launches
	object
}

// Log returns the build log, warnings included.
func (p *Program) Log() string { return p.log }

// KernelNames returns the names of the program's kernels in the driver's
// order.
func (p *Program) KernelNames() ([]string, error) {
	h, err := p.get()
	if err != nil {
		return nil, fmt.Errorf("list kernels: %w", err)
	}
	b, err := cl.Info("clGetProgramInfo", cl.ProgramKernelNames, h)
	if err != nil {
		return nil, fmt.Errorf("list kernels: %w", err)
	}
	names := cl.Text(b, nil)
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
	var h uintptr
	if p.defers != nil {
		binary, err = p.defers.Binary(p.asked())
	} else if h, err = p.get(); err == nil {
		binary, err = cl.GetProgramBinary(cl.ProgramID(h), p.devices[0].id())
	}
	if err != nil {
		return nil, fmt.Errorf("get binary: %w", resources(err))
	}
	return binary, nil
}

// asked returns the program as the driver is asked about it.
func (p *Program) asked() driver.Program {
	return driver.Program{
		Device: p.devices[0].id(),
		ID: func() (cl.ProgramID, error) {
			h, err := p.get()
			return cl.ProgramID(h), err
		},
	}
}

// describe returns the program's kernels with what the driver tells of their
// arguments, which is nothing where it was not compiled to tell.
func (p *Program) describe() ([]store.Kernel, error) {
	h, err := p.get()
	if err != nil {
		return nil, err
	}
	kernels, err := driver.Kernels(cl.ProgramID(h))
	return kernels, resources(err)
}
