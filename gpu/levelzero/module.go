package levelzero

import (
	"errors"
	"fmt"
	"runtime"
	"slices"
	"unsafe"

	"github.com/kernstash/kernstash"
	"github.com/kernstash/kernstash/internal/dl"
	"github.com/kernstash/kernstash/key"
)

// ModuleDesc is what a module is made of.
type ModuleDesc struct {
	// SPIRV are modules of SPIR-V: one, or several that are linked into one, of a
	// driver that has ZE_experimental_module_program. Native is a device's code, from
	// Module.Native, instead of them.
	SPIRV  [][]byte
	Native []byte

	// Flags are given to the compiler; nil is none at all, C's NULL.
	Flags *string

	// Constants are the specialization constants of each module of SPIR-V.
	Constants []key.SpecConstant
}

// extensionProgram is that of modules made of several.
const extensionProgram = "ZE_experimental_module_program"

// Module is a module on one device of a context.
type Module struct {
	context *Context
	device  *Device
	log     string
	object
}

// NewModule makes a module on a device of the context. The caller releases it. What the
// compiler refuses is a *kernstash.BuildError, with the build log.
func (c *Context) NewModule(d *Device, desc ModuleDesc) (*Module, error) {
	m := &Module{context: c, device: d}
	return made(m, c.do("make module", func(id uintptr) (err error) {
		format, codes := uint32(formatSPIRV), desc.SPIRV
		if len(desc.Native) > 0 {
			format, codes = formatNative, [][]byte{desc.Native}
		}
		switch {
		case !slices.Contains(c.devices, d):
			return fmt.Errorf("%w: the device is not of the context", ErrArgument)
		case len(desc.SPIRV) > 0 && len(desc.Native) > 0:
			return fmt.Errorf("%w: SPIR-V and native code", ErrArgument)
		case len(codes) == 0 || slices.ContainsFunc(codes, func(b []byte) bool { return len(b) == 0 }):
			return fmt.Errorf("%w: no code", ErrArgument)
		case len(codes) > 1 && !d.driver.Has(extensionProgram):
			return diagnose(fmt.Errorf("%w: %s", UnsupportedFeature, extensionProgram), "")
		}
		var h uintptr
		if h, m.log, err = createModule(id, d.id, format, codes, desc); err != nil {
			return diagnose(err, m.log)
		}
		m.set("module", h, destroy("zeModuleDestroy"))
		return nil
	}))
}

// The values of ze_module_format_t.
const (
	formatSPIRV  = 0
	formatNative = 1
)

// moduleConstants is ze_module_constants_t.
type moduleConstants struct {
	n      uint32
	ids    unsafe.Pointer
	values unsafe.Pointer
}

// moduleDesc is ze_module_desc_t.
type moduleDesc struct {
	header
	format    uint32
	size      uintptr
	code      unsafe.Pointer
	flags     unsafe.Pointer
	constants unsafe.Pointer
}

// programDesc is ze_module_program_exp_desc_t.
type programDesc struct {
	header
	count     uint32
	sizes     unsafe.Pointer
	codes     unsafe.Pointer
	flags     unsafe.Pointer
	constants unsafe.Pointer
}

// createModule makes a module of codes, each with the flags and constants of desc, and
// returns what the driver says of it, whether it could be made or not.
func createModule(context, device uintptr, format uint32, codes [][]byte, desc ModuleDesc) (module uintptr, said string, err error) {
	defer stepAside()()
	var pinned runtime.Pinner
	defer pinned.Unpin()
	hold := func(p unsafe.Pointer) unsafe.Pointer {
		if p != nil {
			pinned.Pin(p)
		}
		return p
	}
	var flags, constants unsafe.Pointer
	if desc.Flags != nil {
		flags = hold(dl.Addr(dl.CString(*desc.Flags)))
	}
	if n := len(desc.Constants); n > 0 {
		all, values := make([]uint32, n), make([]unsafe.Pointer, n)
		for i, one := range desc.Constants {
			all[i], values[i] = one.ID, hold(dl.Addr(one.Value))
		}
		k := &moduleConstants{uint32(n), hold(dl.Addr(all)), hold(dl.Addr(values))}
		constants = hold(unsafe.Pointer(k))
	}
	own := &moduleDesc{header: header{stype: stypeModuleDesc}, format: format}
	hold(unsafe.Pointer(own))
	if len(codes) == 1 {
		own.size, own.code = uintptr(len(codes[0])), hold(dl.Addr(codes[0]))
		own.flags, own.constants = flags, constants
	} else {
		n := len(codes)
		sizes, starts := make([]uintptr, n), make([]unsafe.Pointer, n)
		eachFlags, eachConstants := make([]unsafe.Pointer, n), make([]unsafe.Pointer, n)
		for i, code := range codes {
			sizes[i], starts[i] = uintptr(len(code)), hold(dl.Addr(code))
			eachFlags[i], eachConstants[i] = flags, constants
		}
		p := &programDesc{
			header: header{stype: stypeModuleProgramExpDesc}, count: uint32(n),
			sizes: hold(dl.Addr(sizes)), codes: hold(dl.Addr(starts)),
		}
		if flags != nil {
			p.flags = hold(dl.Addr(eachFlags))
		}
		if constants != nil {
			p.constants = hold(dl.Addr(eachConstants))
		}
		own.next = hold(unsafe.Pointer(p))
	}
	var log uintptr
	err = ze("zeModuleCreate").call(context, device, uintptr(unsafe.Pointer(own)),
		uintptr(unsafe.Pointer(&module)), uintptr(unsafe.Pointer(&log)))
	return module, takeLog(log), err
}

// takeLog reads a build log, and destroys it.
func takeLog(log uintptr) string {
	if log == 0 {
		return ""
	}
	b, _ := ze("zeModuleBuildLogGetString").bytes(log)
	_ = ze("zeModuleBuildLogDestroy").call(log)
	return dl.Text(b)
}

// verdicts are the results by which a compiler refuses a module: building it again
// gives them again.
var verdicts = []Result{ModuleBuildFailure, ModuleLinkFailure, InvalidArgument, UnsupportedFeature, InvalidNativeBinary}

// diagnose makes the compiler's verdict a *kernstash.BuildError; every other failure
// stays what it is.
func diagnose(err error, log string) error {
	for _, r := range verdicts {
		if errors.Is(err, r) {
			return &kernstash.BuildError{Code: int(int32(r)), Log: log, Err: err}
		}
	}
	return resources(err)
}

// Device returns the device that the module is for.
func (m *Module) Device() *Device { return m.device }

// Log returns the build log.
func (m *Module) Log() string { return m.log }

// Native returns the device's code of the module.
func (m *Module) Native() (code []byte, err error) {
	err = m.do("get native binary", func(id uintptr) (err error) {
		code, err = ze("zeModuleGetNativeBinary").bytes(id)
		return err
	})
	return code, err
}

// KernelNames returns the names of the module's kernels in the driver's order.
func (m *Module) KernelNames() (names []string, err error) {
	err = m.do("list kernels", func(id uintptr) error {
		all, err := list[uintptr](ze("zeModuleGetKernelNames"), 0, id)
		for _, name := range all {
			names = append(names, dl.String(name))
		}
		return err
	})
	return names, err
}

// moduleImports is ZE_MODULE_PROPERTY_FLAG_IMPORTS.
const moduleImports = 1

// Imports reports whether the module is to be linked before its kernels can be had.
func (m *Module) Imports() (bool, error) {
	p := new(numbers)
	err := m.do("ask module", func(id uintptr) (err error) {
		p, err = properties[numbers](ze("zeModuleGetProperties"), stypeModuleProperties, id)
		return err
	})
	return p.n[0]&moduleImports != 0, err
}

// Global returns the address of a variable of the module on the device, and its size
// in bytes. The module is to be built with -ze-take-global-address.
func (m *Module) Global(name string) (at, size uintptr, err error) {
	c := dl.Addr(dl.CString(name))
	err = m.do("find "+name, func(id uintptr) error {
		return ze("zeModuleGetGlobalPointer").call(id, uintptr(c),
			uintptr(unsafe.Pointer(&size)), uintptr(unsafe.Pointer(&at)))
	})
	return at, size, err
}

// Function returns the address of a function of the module on the device.
func (m *Module) Function(name string) (at uintptr, err error) {
	c := dl.Addr(dl.CString(name))
	err = m.do("find "+name, func(id uintptr) (err error) {
		at, err = ze("zeModuleGetFunctionPointer").create(id, uintptr(c))
		return err
	})
	return at, err
}

// Link resolves what modules import by what others of them export, and returns the
// log of it, which is there when it fails, too.
func Link(modules ...*Module) (log string, err error) {
	ids, err := handles(modules)
	if err != nil {
		return "", fmt.Errorf("link modules: %w", err)
	}
	if len(ids) == 0 {
		return "", fmt.Errorf("link modules: %w: none", ErrArgument)
	}
	var said uintptr
	err = ze("zeModuleDynamicLink").call(uintptr(len(ids)), uintptr(dl.Addr(ids)), uintptr(unsafe.Pointer(&said)))
	if log = takeLog(said); err != nil {
		return log, fmt.Errorf("link modules: %w", resources(err))
	}
	return log, nil
}
