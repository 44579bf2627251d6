package levelzero

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"

	"github.com/kernstash/kernstash"
	"github.com/kernstash/kernstash/key"
	"github.com/kernstash/kernstash/store"
)

// Runtime makes a Context's compiler a kernstash.Runtime. Drivers of Level Zero are
// done when a module is made: what is stored is the device's code.
type Runtime struct {
	context *Context
}

var _ kernstash.Runtime[*Program, *Kernels] = (*Runtime)(nil)

// NewRuntime returns the Runtime of a context, which the caller releases after the
// kernstash.Context that uses the Runtime is closed.
func NewRuntime(c *Context) *Runtime { return &Runtime{c} }

// Devices returns the number of the context's devices.
func (r *Runtime) Devices() int { return len(r.context.devices) }

// Identify returns what decides how a device compiles.
func (r *Runtime) Identify(_ context.Context, device int) (key.Device, error) {
	return r.context.devices[device].Identify()
}

// Variables returns the environment variables that the device's compiler obeys, with
// an error if they changed since the driver was loaded.
func (r *Runtime) Variables(device int) ([]key.Pair, error) {
	return r.context.devices[device].SteadyVariables()
}

// Build compiles a recipe of SPIR-V for the first of its devices; the others, which
// are equal, take the code.
func (r *Runtime) Build(ctx context.Context, job kernstash.Job) (*Program, *store.Artifact, error) {
	devices, err := r.devices(ctx, job)
	if err != nil {
		return nil, nil, fmt.Errorf("build program: %w", err)
	}
	desc, err := describe(job.Recipe)
	if err != nil {
		return nil, nil, fmt.Errorf("build program: %w", err)
	}
	m, err := r.context.NewModule(devices[0], desc)
	if err != nil {
		return nil, nil, err
	}
	p := &Program{modules: []*Module{m}, log: m.log}
	artifact := take(m)
	for _, d := range devices[1:] {
		if artifact != nil {
			desc = ModuleDesc{Native: artifact.Binaries[0].Data, Flags: desc.Flags}
		}
		one, err := r.context.NewModule(d, desc)
		if err != nil {
			return nil, nil, fmt.Errorf("build program: %w", errors.Join(err, p.release()))
		}
		p.modules = append(p.modules, one)
	}
	return p, artifact, nil
}

// take returns the artifact of a module; nil where the driver does not give its code:
// the module works, uncached.
func take(m *Module) *store.Artifact {
	native, err := m.Native()
	if err != nil || len(native) == 0 {
		return nil
	}
	names, err := m.KernelNames()
	if err != nil {
		return nil
	}
	a := &store.Artifact{Binaries: Binaries(native, m.unknownNames()), Log: m.log}
	for _, name := range names {
		a.Kernels = append(a.Kernels, store.Kernel{Name: name})
	}
	return a
}

// devices returns the devices of a job, unless nobody waits for it.
func (r *Runtime) devices(ctx context.Context, job kernstash.Job) ([]*Device, error) {
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	devices := make([]*Device, len(job.Devices))
	for i, ordinal := range job.Devices {
		devices[i] = r.context.devices[ordinal]
	}
	return devices, nil
}

// describe returns what a recipe says to build.
func describe(recipe *key.Recipe) (ModuleDesc, error) {
	units := recipe.Image.Units()
	order, err := orderOf(recipe.Options, len(units))
	if err != nil {
		return ModuleDesc{}, err
	}
	desc := ModuleDesc{Flags: flags(recipe), Constants: recipe.Constants}
	for _, i := range order {
		if units[i].Kind != key.SPIRV {
			return ModuleDesc{}, fmt.Errorf("%w: Level Zero builds no %v", ErrArgument, units[i].Kind)
		}
		desc.SPIRV = append(desc.SPIRV, units[i].Code)
	}
	return desc, nil
}

// flags returns the compiler's flags; nil where there are none.
func flags(recipe *key.Recipe) *string {
	if len(recipe.Options.Compile)+len(recipe.Options.Search) == 0 {
		return nil
	}
	s := recipe.Options.CompileString()
	return &s
}

// errKernels is wrapped when a binary holds other kernels than its artifact says.
var errKernels = errors.New("kernels differ from those recorded")

// Load makes modules of an artifact's first binary. The driver refuses what was made
// by another one; a module whose kernels are not those of the artifact is refused here.
func (r *Runtime) Load(ctx context.Context, job kernstash.Job, a *store.Artifact) (*Program, error) {
	devices, err := r.devices(ctx, job)
	if err != nil {
		return nil, fmt.Errorf("load program: %w", err)
	}
	native, _, err := NativeOf(a)
	if err != nil {
		return nil, fmt.Errorf("load program: %w", err)
	}
	p := &Program{log: a.Log}
	for _, d := range devices {
		m, err := r.context.NewModule(d, ModuleDesc{Native: native, Flags: flags(job.Recipe)})
		if err == nil {
			p.modules = append(p.modules, m)
			err = m.checkKernels(a.Kernels)
		}
		if err != nil {
			return nil, fmt.Errorf("load program: %w", errors.Join(err, p.release()))
		}
		m.log = a.Log
	}
	return p, nil
}

func (m *Module) checkKernels(recorded []store.Kernel) error {
	names, err := m.KernelNames()
	if err != nil {
		return err
	}
	if !slices.EqualFunc(names, recorded, func(name string, k store.Kernel) bool { return name == k.Name }) {
		return fmt.Errorf("%w: %q", errKernels, names)
	}
	return nil
}

// Kernel makes the kernels of a name.
func (r *Runtime) Kernel(p *Program, name string) (*Kernels, error) {
	k := &Kernels{}
	for _, m := range p.modules {
		one, err := m.NewKernel(name)
		if err != nil {
			return nil, errors.Join(err, releaseAll(k.all))
		}
		k.all = append(k.all, one)
	}
	return k, nil
}

// ReleaseProgram gives a program back.
func (r *Runtime) ReleaseProgram(p *Program) { _ = p.release() }

// ReleaseKernel gives kernels back.
func (r *Runtime) ReleaseKernel(k *Kernels) { _ = releaseAll(k.all) }

// UnknownNames are the results with which a module refuses the names of a variable and of
// a function that it has not; 0: not known. NEO 26.27 says of SPIR-V that was built without the
// flags for it that it does not support that at all, and of native code that there is no such
// name. So they are kept with the code, for those who make one look like the other.
type UnknownNames [2]Result

// unknownName is none that a compiler lets a module have.
const unknownName = "kernstash: no such name"

func (m *Module) unknownNames() (u UnknownNames) {
	_, _, noGlobal := m.Global(unknownName)
	_, noFunction := m.Function(unknownName)
	for i, err := range []error{noGlobal, noFunction} {
		if e, ok := errors.AsType[*Error](err); ok {
			u[i] = e.Result
		}
	}
	return u
}

// Binaries returns native code and what goes with it as an artifact has them.
func Binaries(native []byte, u UnknownNames) []store.Binary {
	b, _ := binary.Append(nil, binary.LittleEndian, u)
	return []store.Binary{{Form: store.FormFinal, Data: native}, {Form: store.FormIntermediate, Data: b}}
}

// NativeOf returns the native code of an artifact and what goes with it, if it has that.
func NativeOf(a *store.Artifact) (native []byte, u UnknownNames, err error) {
	if len(a.Binaries) == 0 || len(a.Binaries[0].Data) == 0 {
		return nil, u, fmt.Errorf("%w: no binary", ErrArgument)
	}
	if len(a.Binaries) > 1 && len(a.Binaries[1].Data) == binary.Size(u) {
		_, err = binary.Decode(a.Binaries[1].Data, binary.LittleEndian, &u)
	}
	return a.Binaries[0].Data, u, err
}
