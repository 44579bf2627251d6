package cuda

import (
	"bytes"
	"context"
	"debug/elf"
	"encoding/binary"
	"fmt"
	"runtime"
	"strconv"
	"strings"
	"unsafe"

	"github.com/kernstash/kernstash"
	"github.com/kernstash/kernstash/internal/dl"
	"github.com/kernstash/kernstash/key"
	"github.com/kernstash/kernstash/store"
)

// Linker makes the driver's compiler a kernstash.Runtime: it finishes PTX to a cubin for the
// context's device, and loads cubins. What it makes depends on the driver, which is in the key.
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
	defer j.pin.Unpin()
	var state uintptr
	if err := call("cuLinkCreate_v2", uintptr(len(j.names)), uintptr(dl.Addr(j.names)), uintptr(dl.Addr(j.values)), uintptr(unsafe.Pointer(&state))); err != nil {
		return nil, j.log(), err
	}
	for i, u := range units {
		ptx, name := terminated(u.Code), dl.CString(fmt.Sprintf("unit %d", i))
		err := call("cuLinkAddData_v2", state, inputPTX, uintptr(dl.Addr(ptx)), uintptr(len(ptx)), uintptr(dl.Addr(name)), 0, 0, 0)
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

// jitOption is an option of the driver's compiler: a CUjit_option and its value.
type jitOption struct {
	name  jitName
	value uintptr
}

// jitName is a CUjit_option.
type jitName int32

// Options of the driver's compiler.
const (
	jitMaxRegisters      jitName = 0
	jitInfoLog           jitName = 3
	jitInfoLogSize       jitName = 4
	jitErrorLog          jitName = 5
	jitErrorLogSize      jitName = 6
	jitOptimizationLevel jitName = 7
	jitDebugInfo         jitName = 11
	jitVerbose           jitName = 12
	jitLineInfo          jitName = 13
)

// maxLog is what is kept of either log.
const maxLog = 16 << 10

// jit holds options in the form that C takes, with two logs. It is pinned, since
// the driver keeps pointers to it between the calls of a link.
type jit struct {
	names       []jitName
	values      []uintptr
	info, fails []byte
	pin         runtime.Pinner
}

func newJIT(options []jitOption) *jit {
	j := &jit{info: make([]byte, maxLog), fails: make([]byte, maxLog)}
	for _, o := range options {
		j.names, j.values = append(j.names, o.name), append(j.values, o.value)
	}
	j.names = append(j.names, jitInfoLog, jitInfoLogSize, jitErrorLog, jitErrorLogSize)
	j.values = append(j.values, uintptr(dl.Addr(j.info)), maxLog, uintptr(dl.Addr(j.fails)), maxLog)
	j.pin.Pin(&j.info[0])
	j.pin.Pin(&j.fails[0])
	j.pin.Pin(&j.names[0])
	j.pin.Pin(&j.values[0])
	return j
}

// log is what the driver's compiler said so far.
func (j *jit) log() string {
	info, fails := dl.Text(j.info), dl.Text(j.fails)
	switch {
	case fails == "":
		return info
	case info == "":
		return fails
	}
	return fails + "\n" + info
}

// jitOptions translates options, which are called as nvcc and NVRTC call them, to
// the driver's. Another one is an error: nothing is left out in silence.
func jitOptions(words []string) ([]jitOption, error) {
	var options []jitOption
	for i := 0; i < len(words); i++ {
		name, value, has := strings.Cut("-"+strings.TrimLeft(words[i], "-"), "=")
		number := func(o jitName, least, most int) error {
			if !has && i+1 < len(words) {
				i++
				value = words[i]
			}
			n, err := strconv.Atoi(value)
			if err != nil || n < least || n > most {
				return fmt.Errorf("%w: option %s for the driver's compiler: %q", ErrArgument, name, value)
			}
			options = append(options, jitOption{o, uintptr(n)})
			return nil
		}
		var err error
		switch name {
		case "-maxrregcount":
			err = number(jitMaxRegisters, 1, 255)
		case "-opt-level":
			err = number(jitOptimizationLevel, 0, 4)
		case "-O0", "-O1", "-O2", "-O3", "-O4":
			options = append(options, jitOption{jitOptimizationLevel, uintptr(name[2] - '0')})
		case "-G", "-device-debug":
			options = append(options, jitOption{jitDebugInfo, 1})
		case "-lineinfo", "-generate-line-info":
			options = append(options, jitOption{jitLineInfo, 1})
		case "-v", "-verbose":
			options = append(options, jitOption{jitVerbose, 1})
		default:
			err = fmt.Errorf("%w: option %q is none of the driver's compiler (-maxrregcount=N, -O0 to -O4, -G, -lineinfo, -v)", ErrArgument, words[i])
		}
		if err != nil {
			return nil, err
		}
	}
	return options, nil
}

// versionAt is where an ELF file has its version, e_version.
const versionAt = 20

// stoEntry is STO_CUDA_ENTRY, the bit of a symbol that says that it is a kernel.
const stoEntry = 0x10

// entries returns the kernels of a cubin, which is an ELF file; none where it is
// not understood. They are for people: the driver is asked for what is launched.
func entries(cubin []byte) []store.Kernel {
	if !isCubin(cubin) || len(cubin) < versionAt+4 {
		return nil
	}
	own := bytes.Clone(cubin)
	binary.LittleEndian.PutUint32(own[versionAt:], uint32(elf.EV_CURRENT)) // it is CUDA's, 118 for 11.8
	f, err := elf.NewFile(bytes.NewReader(own))
	if err != nil {
		return nil
	}
	symbols, err := f.Symbols()
	if err != nil {
		return nil
	}
	var kernels []store.Kernel
	for _, s := range symbols {
		if elf.ST_TYPE(s.Info) == elf.STT_FUNC && s.Other&stoEntry != 0 {
			kernels = append(kernels, store.Kernel{Name: s.Name})
		}
	}
	return kernels
}
