package ze

import (
	"errors"
	"unsafe"

	"github.com/kernstash/kernstash/internal/dl"
)

// ModuleID is a ze_module_handle_t.
type ModuleID uintptr

var (
	zeModuleCreate             = entry{name: "zeModuleCreate"}
	zeModuleDestroy            = entry{name: "zeModuleDestroy"}
	zeModuleDynamicLink        = entry{name: "zeModuleDynamicLink"}
	zeModuleBuildLogGetString  = entry{name: "zeModuleBuildLogGetString"}
	zeModuleBuildLogDestroy    = entry{name: "zeModuleBuildLogDestroy"}
	zeModuleGetNativeBinary    = entry{name: "zeModuleGetNativeBinary"}
	zeModuleGetKernelNames     = entry{name: "zeModuleGetKernelNames"}
	zeModuleGetProperties      = entry{name: "zeModuleGetProperties"}
	zeModuleGetGlobalPointer   = entry{name: "zeModuleGetGlobalPointer"}
	zeModuleGetFunctionPointer = entry{name: "zeModuleGetFunctionPointer"}
)

// The values of ze_module_format_t.
const (
	FormatSPIRV  = 0
	FormatNative = 1
)

// Constant is a specialization constant.
type Constant struct {
	ID    uint32
	Value []byte
}

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

// ModuleDesc is what a module is made of. Several codes are SPIR-V that is linked
// into one, of a driver that has ZE_experimental_module_program; flags and
// constants are those of each.
type ModuleDesc struct {
	Format    uint32
	Codes     [][]byte
	Flags     *string // nil is NULL
	Constants []Constant
}

// ModuleCreate makes a module, and returns what the driver says of it, whether it
// could be made or not.
func ModuleCreate(c ContextID, d DeviceID, m ModuleDesc) (ModuleID, string, error) {
	defer stepAside()()
	pinned := pin()
	defer pinned.Unpin()
	hold := func(p unsafe.Pointer) unsafe.Pointer {
		if p != nil {
			pinned.Pin(p)
		}
		return p
	}
	var flags, constants unsafe.Pointer
	if m.Flags != nil {
		flags = hold(addr(dl.CString(*m.Flags)))
	}
	if n := len(m.Constants); n > 0 {
		all, values := make([]uint32, n), make([]unsafe.Pointer, n)
		for i, one := range m.Constants {
			all[i], values[i] = one.ID, hold(addr(one.Value))
		}
		k := &moduleConstants{uint32(n), hold(addr(all)), hold(addr(values))}
		constants = hold(unsafe.Pointer(k))
	}
	desc := &moduleDesc{header: header{stype: stypeModuleDesc}, format: m.Format}
	hold(unsafe.Pointer(desc))
	if len(m.Codes) == 1 {
		desc.size, desc.code = uintptr(len(m.Codes[0])), hold(addr(m.Codes[0]))
		desc.flags, desc.constants = flags, constants
	} else {
		n := len(m.Codes)
		sizes, codes := make([]uintptr, n), make([]unsafe.Pointer, n)
		eachFlags, eachConstants := make([]unsafe.Pointer, n), make([]unsafe.Pointer, n)
		for i, code := range m.Codes {
			sizes[i], codes[i] = uintptr(len(code)), hold(addr(code))
			eachFlags[i], eachConstants[i] = flags, constants
		}
		p := &programDesc{
			header: header{stype: stypeModuleProgramExpDesc}, count: uint32(n),
			sizes: hold(addr(sizes)), codes: hold(addr(codes)),
		}
		if flags != nil {
			p.flags = hold(addr(eachFlags))
		}
		if constants != nil {
			p.constants = hold(addr(eachConstants))
		}
		desc.next = hold(unsafe.Pointer(p))
	}
	module, log := new(uintptr), new(uintptr)
	err := zeModuleCreate.call(uintptr(c), uintptr(d), uintptr(unsafe.Pointer(desc)), uintptr(unsafe.Pointer(module)), uintptr(unsafe.Pointer(log)))
	said := takeLog(*log)
	if err != nil {
		return 0, said, err
	}
	return ModuleID(*module), said, nil
}

// takeLog reads a build log, and destroys it.
func takeLog(log uintptr) string {
	if log == 0 {
		return ""
	}
	b, _ := zeModuleBuildLogGetString.bytes(log)
	_ = zeModuleBuildLogDestroy.call(log)
	return text(b)
}

// bytes calls a function that fills memory, after asking how much it is.
func (e *entry) bytes(h uintptr) ([]byte, error) {
	n := new(uintptr)
	if err := e.call(h, uintptr(unsafe.Pointer(n)), 0); err != nil || *n == 0 {
		return nil, err
	}
	b := make([]byte, *n)
	err := e.call(h, uintptr(unsafe.Pointer(n)), uintptr(addr(b)))
	return b[:min(int(*n), len(b))], err
}

// ModuleDestroy destroys a module.
func ModuleDestroy(m ModuleID) error { return zeModuleDestroy.call(uintptr(m)) }

// ModuleGetNativeBinary returns the device's code of a module.
func ModuleGetNativeBinary(m ModuleID) ([]byte, error) {
	return zeModuleGetNativeBinary.bytes(uintptr(m))
}

// ModuleGetKernelNames returns the names of a module's kernels, in the driver's order.
func ModuleGetKernelNames(m ModuleID) ([]string, error) {
	all, err := zeModuleGetKernelNames.list(uintptr(m))
	names := make([]string, len(all))
	for i, name := range all {
		names[i] = dl.String(name)
	}
	return names, err
}

// ModuleImports is the flag of a module that is to be linked before its kernels can
// be had.
const ModuleImports = 1

// ModuleGetProperties returns a module's flags.
func ModuleGetProperties(m ModuleID) (uint32, error) {
	p := &struct {
		header
		flags uint32
	}{header: header{stype: stypeModuleProperties}}
	err := zeModuleGetProperties.call(uintptr(m), uintptr(unsafe.Pointer(p)))
	return p.flags, err
}

// ModuleGetGlobalPointer returns where a variable of a module is, and its size in
// bytes.
func ModuleGetGlobalPointer(m ModuleID, name string) (at, size uintptr, err error) {
	where, n, c := new(uintptr), new(uintptr), dl.CString(name)
	err = zeModuleGetGlobalPointer.call(uintptr(m), uintptr(addr(c)), uintptr(unsafe.Pointer(n)), uintptr(unsafe.Pointer(where)))
	return *where, *n, err
}

// ModuleGetFunctionPointer returns where a function of a module is.
func ModuleGetFunctionPointer(m ModuleID, name string) (uintptr, error) {
	return zeModuleGetFunctionPointer.create(uintptr(m), uintptr(addr(dl.CString(name))))
}

// ModuleDynamicLink resolves the imports of modules by each other, and returns what
// the driver says of it.
func ModuleDynamicLink(modules []ModuleID) (string, error) {
	if len(modules) == 0 {
		return "", errors.New("no modules")
	}
	log := new(uintptr)
	err := zeModuleDynamicLink.call(uintptr(len(modules)), uintptr(addr(modules)), uintptr(unsafe.Pointer(log)))
	return takeLog(*log), err
}
