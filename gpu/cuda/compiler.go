package cuda

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/kernstash/kernstash"
	"github.com/kernstash/kernstash/gpu/rtc"
	"github.com/kernstash/kernstash/internal/capability"
	"github.com/kernstash/kernstash/key"
	"github.com/kernstash/kernstash/store"
)

// compiler is the kernstash.Runtime of CUDA C++: NVRTC's, with the keys of every front end to it, and with
// modules of what it made. That depends on no device and no driver, so neither is in these keys; PTX among
// it goes to the linker, in whose keys they are.
type compiler struct {
	rtc.Runtime
	cached *Cached
}

var (
	_ kernstash.Runtime[*Module, *Kernel]          = (*compiler)(nil)
	_ capability.HeaderSearcher[kernstash.Request] = (*compiler)(nil)
)

// Build compiles a recipe, and loads what was made.
func (c *compiler) Build(ctx context.Context, job kernstash.Job) (*Module, *store.Artifact, error) {
	o, a, err := c.Runtime.Build(ctx, job)
	unfit, isUnfit := errors.AsType[*kernstash.UnfitError](err)
	if err != nil && !isUnfit {
		return nil, nil, err
	}
	m, err := c.module(ctx, o)
	if errors.Is(err, kernstash.ErrOutOfResources) {
		c.cached.Clear() // the core would do so too, and compile again
		m, err = c.module(ctx, o)
	}
	if err != nil {
		return nil, nil, fmt.Errorf("build program: %w", err)
	}
	if isUnfit {
		return m, nil, unfit // the module is right here, and not kept
	}
	return m, a, nil
}

// Load loads what was made before. That the code is not for this device, or that this driver cannot
// finish its PTX, says nothing against the artifact: to others it is of use.
func (c *compiler) Load(ctx context.Context, job kernstash.Job, a *store.Artifact) (*Module, error) {
	o, err := c.Runtime.Load(ctx, job, a)
	if err != nil {
		return nil, err
	}
	m, err := c.module(ctx, o)
	if _, machine := machineCode(o); err != nil && (!machine || errors.Is(err, NoBinaryForGPU)) {
		err = fmt.Errorf("%w: %w", kernstash.ErrAbandoned, err)
	}
	if err != nil {
		return nil, fmt.Errorf("load program: %w", err)
	}
	return m, nil
}

// machineCode returns the cubin among what NVRTC made, if the driver is to take it.
func machineCode(o *rtc.Output) ([]byte, bool) {
	cubin, ok := o.Get(rtc.CUBIN)
	return cubin, ok && !jitForced()
}

// errNoCode is wrapped where NVRTC made nothing that a driver takes.
var errNoCode = errors.New("NVRTC made neither machine code nor PTX")

// module makes a module of what NVRTC made: of the machine code, or of PTX, which
// the driver finishes.
func (c *compiler) module(ctx context.Context, o *rtc.Output) (*Module, error) {
	m := &Module{context: c.cached.Context, names: make(map[string]string)}
	for _, l := range o.LoweredNames() {
		if l.Code == 0 {
			m.names[l.Expression] = l.Name
		}
	}
	if cubin, ok := machineCode(o); ok {
		if err := m.load(cubin); err != nil {
			return nil, err
		}
		m.log = o.Log()
		return m, nil
	}
	ptx, _ := o.Get(rtc.PTX)
	if ptx = bytes.TrimRight(ptx, "\x00"); len(ptx) == 0 {
		return nil, fmt.Errorf("%w (-dlto makes LTO IR, which nvJitLink links, -optix-ir what OptiX takes)", errNoCode)
	}
	image, err := kernstash.NewImage(key.PTX, ptx) // without its final NUL: with the key of the same PTX from elsewhere
	if err != nil {
		return nil, err
	}
	p, err := c.cached.linker.Program(ctx, kernstash.Request{Image: image, LinkOptions: c.cached.linkOptions})
	if err != nil {
		return nil, err
	}
	linked, err := p.Native(0)
	if err != nil {
		p.Release()
		return nil, err
	}
	m.linked, m.log = p, o.Log()+linked.log
	m.set("module", linked.Handle(), func(uintptr) error {
		p.Release()
		return nil
	})
	return m, nil
}

// Kernel makes the kernel of a name, or of a name expression of the request.
func (*compiler) Kernel(m *Module, name string) (*Kernel, error) { return m.Kernel(name) }

// ReleaseProgram gives a module back.
func (*compiler) ReleaseProgram(m *Module) { _ = m.Release() }

// ReleaseKernel does nothing: kernels go with their module.
func (*compiler) ReleaseKernel(*Kernel) {}

// Arch returns the architecture that CUDA C++ is compiled for where its options
// name none: the device's real one ("sm_90"), of which NVRTC makes machine code;
// where this NVRTC is older than the device, or makes no machine code, the newest
// virtual one that both know ("compute_80"), of which it makes PTX.
func (d *Device) Arch(l *rtc.Library) string {
	return archFor(d.Capability, l.SupportedArchs, jitForced())
}

func archFor(c Capability, supported func() ([]int, error), virtual bool) string {
	all, err := supported()
	if err != nil {
		return c.VirtualArch() // before NVRTC 11.2; what made no machine code before 11.1
	}
	own, best := 10*c.Major+c.Minor, 0
	for _, n := range all {
		if n <= own {
			best = max(best, n)
		}
	}
	switch {
	case slices.Contains(all, own) && !virtual:
		return c.Arch()
	case best > 0:
		return fmt.Sprintf("compute_%d", best)
	}
	return c.VirtualArch() // the device is too old for it, and it will say so
}

// namesArch reports whether options may name an architecture.
func namesArch(options string) bool {
	return strings.Contains(options, "-arch") || strings.Contains(options, "-gpu-architecture")
}
