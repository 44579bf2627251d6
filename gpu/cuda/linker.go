package cuda

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/kernstash/kernstash"
	"github.com/kernstash/kernstash/gpu/cuda/internal/cu"
	"github.com/kernstash/kernstash/key"
	"github.com/kernstash/kernstash/store"
)

// Linker makes the driver's compiler a kernstash.Runtime: it finishes PTX to a
// cubin for the context's device, and loads cubins. What it makes depends on the
// driver, which is in the key.
//
// A driver that cannot link (an entry point is missing), or takes PTX alone
// (CUDA_FORCE_PTX_JIT), is given the PTX as it is, and nothing is stored.
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
func (l *Linker) Build(ctx context.Context, job kernstash.Job) (*Module, *store.Artifact, error) {
	if err := ctx.Err(); err != nil {
		return nil, nil, fmt.Errorf("link program: %w", context.Cause(ctx))
	}
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
	var inputs []cu.Input
	for i, u := range r.Image.Units() {
		if u.Kind != key.PTX {
			return nil, nil, fmt.Errorf("%w: the driver links no %v", ErrArgument, u.Kind)
		}
		inputs = append(inputs, cu.Input{Kind: cu.InputPTX, Name: fmt.Sprintf("unit %d", i), Data: terminated(u.Code)})
	}
	m := &Module{context: l.context}
	if missing := cu.CanLink(); missing != nil || jitForced() {
		if len(inputs) > 1 {
			return nil, nil, fmt.Errorf("link %d units: %w", len(inputs), missing)
		}
		return m, nil, m.load(inputs[0].Data, options...)
	}
	var cubin []byte
	var log string
	err = cu.Within(cu.Context(h), func() (err error) {
		cubin, log, err = cu.Link(inputs, options...)
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
func (l *Linker) Load(ctx context.Context, _ kernstash.Job, a *store.Artifact) (*Module, error) {
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("load program: %w", context.Cause(ctx))
	}
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

// jitOptions translates options, which are called as nvcc and NVRTC call them, to
// the driver's. Another one is an error: nothing is left out in silence.
func jitOptions(words []string) ([]cu.JITOption, error) {
	var options []cu.JITOption
	for i := 0; i < len(words); i++ {
		name, value, has := strings.Cut("-"+strings.TrimLeft(words[i], "-"), "=")
		number := func(o cu.JITName, least, most int) error {
			if !has && i+1 < len(words) {
				i++
				value = words[i]
			}
			n, err := strconv.Atoi(value)
			if err != nil || n < least || n > most {
				return fmt.Errorf("%w: option %s for the driver's compiler: %q", ErrArgument, name, value)
			}
			options = append(options, cu.JITOption{Name: o, Value: uintptr(n)})
			return nil
		}
		var err error
		switch name {
		case "-maxrregcount":
			err = number(cu.JITMaxRegisters, 1, 255)
		case "-opt-level":
			err = number(cu.JITOptimizationLevel, 0, 4)
		case "-O0", "-O1", "-O2", "-O3", "-O4":
			options = append(options, cu.JITOption{Name: cu.JITOptimizationLevel, Value: uintptr(name[2] - '0')})
		case "-G", "-device-debug":
			options = append(options, cu.JITOption{Name: cu.JITDebugInfo, Value: 1})
		case "-lineinfo", "-generate-line-info":
			options = append(options, cu.JITOption{Name: cu.JITLineInfo, Value: 1})
		case "-v", "-verbose":
			options = append(options, cu.JITOption{Name: cu.JITVerbose, Value: 1})
		default:
			err = fmt.Errorf("%w: option %q is none of the driver's compiler (-maxrregcount=N, -O0 to -O4, -G, -lineinfo, -v)", ErrArgument, words[i])
		}
		if err != nil {
			return nil, err
		}
	}
	return options, nil
}
