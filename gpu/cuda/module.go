package cuda

import (
	"bytes"
	"errors"
	"fmt"
	"unsafe"

	"github.com/kernstash/kernstash"
	"github.com/kernstash/kernstash/internal/dl"
)

// Module is code in a context: a CUmodule with its kernels and variables.
type Module struct {
	context *Context
	log     string
	names   map[string]string // expression → lowered name
	linked  *CachedProgram    // whose the driver's module is; nil: its own
	object
}

// LoadModule makes a module of code that the application has: a cubin, a fat
// binary, or PTX, which the driver compiles now. Nothing of it is cached: see
// Cached.Program for what is to be. The caller releases it.
//
// What the driver refuses is a *kernstash.BuildError with its log, as from a compiler.
func (c *Context) LoadModule(image []byte) (*Module, error) {
	m := &Module{context: c}
	if err := m.load(image); err != nil {
		return nil, fmt.Errorf("load module: %w", err)
	}
	return m, nil
}

// load gives the module its handle.
func (m *Module) load(image []byte, options ...jitOption) error {
	switch {
	case len(image) == 0:
		return fmt.Errorf("%w: no code", ErrArgument)
	case !isBinary(image):
		image = terminated(image)
	}
	h, err := m.context.get()
	if err != nil {
		return err
	}
	var id uintptr
	err = current(h, func() error {
		j := newJIT(options)
		defer j.pin.Unpin()
		defer func() { m.log = j.log() }()
		return call("cuModuleLoadDataEx", uintptr(unsafe.Pointer(&id)), uintptr(dl.Addr(image)),
			uintptr(len(j.names)), uintptr(dl.Addr(j.names)), uintptr(dl.Addr(j.values)))
	})
	if err != nil {
		return diagnose(err, m.log)
	}
	m.set("module", id, m.context.end("cuModuleUnload"))
	return nil
}

// isBinary reports whether an image is a cubin or a fat binary, and no text.
func isBinary(image []byte) bool {
	return isCubin(image) || bytes.HasPrefix(image, []byte{0x50, 0xed, 0x55, 0xba}) || // a fat binary,
		bytes.HasPrefix(image, []byte{0xb1, 0x43, 0x62, 0x46}) // or its wrapper
}

func isCubin(image []byte) bool { return bytes.HasPrefix(image, []byte("\x7fELF")) }

// terminated returns text with the NUL that the driver looks for.
func terminated(text []byte) []byte {
	if len(text) > 0 && text[len(text)-1] == 0 {
		return text
	}
	return append(bytes.Clone(text), 0)
}

// verdicts are the codes by which the driver's compiler refuses a program, or the
// driver a binary: doing it again gives them again.
var verdicts = []Code{
	InvalidPTX, InvalidImage, InvalidSource, UnsupportedPTXVersion, NoBinaryForGPU, UnsupportedDevsideSync,
	SharedObjectSymbolNotFound, InvalidValue, NotFound,
}

// hints say what to do about a verdict that is not about the program.
var hints = map[Code]string{
	UnsupportedPTXVersion: "the driver is older than what made this PTX: update it, or let NVRTC make machine code, for a real architecture (sm_…)",
	NoBinaryForGPU:        "the code is for other GPUs than this one: name this one's architecture, or none",
}

// diagnose makes a verdict a *kernstash.BuildError; every other failure stays what it is.
func diagnose(err error, log string) error {
	for _, c := range verdicts {
		if errors.Is(err, c) {
			if hint := hints[c]; hint != "" {
				err = fmt.Errorf("%w; %s", err, hint)
			}
			return &kernstash.BuildError{Code: int(c), Log: log, Err: err}
		}
	}
	return resources(err)
}

// Log returns what the compilers said, warnings included.
func (m *Module) Log() string { return m.log }

// Linked returns the program that the driver's compiler made of NVRTC's PTX, whose code this
// module has: its key and origin are that step's. Nil where there was no such step. It must
// not be released, nor used after the module's own.
func (m *Module) Linked() *CachedProgram { return m.linked }

// LoweredName returns the name that a kernel or variable has in the code: what
// NVRTC made of a name expression, or the name itself.
func (m *Module) LoweredName(name string) string {
	if lowered, ok := m.names[name]; ok {
		return lowered
	}
	return name
}

// KernelNames returns the names of the module's kernels in the driver's order. The
// driver must be of CUDA 12.4 or newer.
func (m *Module) KernelNames() (names []string, err error) {
	err = m.context.with("list kernels", m.get, func(id uintptr) error {
		var n uint32
		if err := call("cuModuleGetFunctionCount", uintptr(unsafe.Pointer(&n)), id); err != nil {
			return err
		}
		functions := make([]uintptr, n)
		if err := call("cuModuleEnumerateFunctions", uintptr(dl.Addr(functions)), uintptr(n), id); err != nil {
			return err
		}
		for _, f := range functions {
			var name uintptr
			if err := call("cuFuncGetName", uintptr(unsafe.Pointer(&name)), f); err != nil {
				return err
			}
			names = append(names, dl.String(name))
		}
		return nil
	})
	return names, err
}

// Variable returns where a variable of the module is, and its bytes: __constant__ and __device__
// variables, by name or by name expression. It goes with the module.
func (m *Module) Variable(name string) (p Pointer, size int, err error) {
	var n uintptr
	err = m.context.with("variable "+name, m.get, func(id uintptr) error {
		lowered := dl.Addr(dl.CString(m.LoweredName(name)))
		return call("cuModuleGetGlobal_v2", uintptr(unsafe.Pointer(&p)), uintptr(unsafe.Pointer(&n)), id, uintptr(lowered))
	})
	return p, int(n), err
}
