package levelzero

import (
	"errors"
	"fmt"
	"slices"

	"github.com/kernstash/kernstash"
	"github.com/kernstash/kernstash/gpu/levelzero/internal/ze"
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
	id, err := c.id()
	if err != nil {
		return nil, fmt.Errorf("make module: %w", err)
	}
	own := ze.ModuleDesc{Format: ze.FormatSPIRV, Codes: desc.SPIRV, Flags: desc.Flags}
	if len(desc.Native) > 0 {
		own.Format, own.Codes = ze.FormatNative, [][]byte{desc.Native}
	}
	switch {
	case !slices.Contains(c.devices, d):
		return nil, fmt.Errorf("make module: %w: the device is not of the context", ErrArgument)
	case len(desc.SPIRV) > 0 && len(desc.Native) > 0:
		return nil, fmt.Errorf("make module: %w: SPIR-V and native code", ErrArgument)
	case len(own.Codes) == 0 || slices.ContainsFunc(own.Codes, func(b []byte) bool { return len(b) == 0 }):
		return nil, fmt.Errorf("make module: %w: no code", ErrArgument)
	case len(own.Codes) > 1 && !d.driver.Has(extensionProgram):
		err := fmt.Errorf("make module: %w: %s", UnsupportedFeature, extensionProgram)
		return nil, &kernstash.BuildError{Code: code(UnsupportedFeature), Err: err}
	}
	for _, one := range desc.Constants {
		own.Constants = append(own.Constants, ze.Constant{ID: one.ID, Value: one.Value})
	}
	h, log, err := ze.ModuleCreate(id, d.id, own)
	if err != nil {
		return nil, fmt.Errorf("make module: %w", diagnose(err, log))
	}
	m := &Module{context: c, device: d, log: log}
	m.set("module", uintptr(h))
	return m, nil
}

// verdicts are the results by which a compiler refuses a module: building it again
// gives them again.
var verdicts = []Result{ModuleBuildFailure, ModuleLinkFailure, InvalidArgument, UnsupportedFeature, InvalidNativeBinary}

// diagnose makes the compiler's verdict a *kernstash.BuildError; every other failure
// stays what it is.
func diagnose(err error, log string) error {
	for _, r := range verdicts {
		if errors.Is(err, r) {
			return &kernstash.BuildError{Code: code(r), Log: log, Err: err}
		}
	}
	return resources(err)
}

// code is a result as a BuildError's code.
func code(r Result) int { return int(int32(r)) }

// Handle returns the ze_module_handle_t; zero once it is released.
func (m *Module) Handle() uintptr { return m.handle.Load() }

// Device returns the device that the module is for.
func (m *Module) Device() *Device { return m.device }

// Log returns the build log.
func (m *Module) Log() string { return m.log }

func (m *Module) id() (ze.ModuleID, error) {
	h, err := m.get()
	return ze.ModuleID(h), err
}

// Native returns the device's code of the module.
func (m *Module) Native() ([]byte, error) {
	id, err := m.id()
	if err != nil {
		return nil, fmt.Errorf("get native binary: %w", err)
	}
	b, err := ze.ModuleGetNativeBinary(id)
	if err != nil {
		return nil, fmt.Errorf("get native binary: %w", resources(err))
	}
	return b, nil
}

// KernelNames returns the names of the module's kernels in the driver's order.
func (m *Module) KernelNames() ([]string, error) {
	id, err := m.id()
	if err != nil {
		return nil, fmt.Errorf("list kernels: %w", err)
	}
	names, err := ze.ModuleGetKernelNames(id)
	if err != nil {
		return nil, fmt.Errorf("list kernels: %w", err)
	}
	return names, nil
}

// Imports says whether the module is to be linked before its kernels can be had.
func (m *Module) Imports() (bool, error) {
	id, err := m.id()
	if err != nil {
		return false, fmt.Errorf("ask module: %w", err)
	}
	flags, err := ze.ModuleGetProperties(id)
	if err != nil {
		return false, fmt.Errorf("ask module: %w", err)
	}
	return flags&ze.ModuleImports != 0, nil
}

// Global returns the address of a variable of the module on the device, and its size
// in bytes. The module is to be built with -ze-take-global-address.
func (m *Module) Global(name string) (at, size uintptr, err error) {
	id, err := m.id()
	if err != nil {
		return 0, 0, fmt.Errorf("find %s: %w", name, err)
	}
	if at, size, err = ze.ModuleGetGlobalPointer(id, name); err != nil {
		return 0, 0, fmt.Errorf("find %s: %w", name, err)
	}
	return at, size, nil
}

// Function returns the address of a function of the module on the device.
func (m *Module) Function(name string) (uintptr, error) {
	id, err := m.id()
	if err != nil {
		return 0, fmt.Errorf("find %s: %w", name, err)
	}
	at, err := ze.ModuleGetFunctionPointer(id, name)
	if err != nil {
		return 0, fmt.Errorf("find %s: %w", name, err)
	}
	return at, nil
}

// Link resolves what modules import by what others of them export, and returns the
// log of it, which is there when it fails, too.
func Link(modules ...*Module) (log string, err error) {
	ids := make([]ze.ModuleID, len(modules))
	for i, m := range modules {
		if ids[i], err = m.id(); err != nil {
			return "", fmt.Errorf("link modules: %w", err)
		}
	}
	if len(ids) == 0 {
		return "", fmt.Errorf("link modules: %w: none", ErrArgument)
	}
	if log, err = ze.ModuleDynamicLink(ids); err != nil {
		return log, fmt.Errorf("link modules: %w", resources(err))
	}
	return log, nil
}

// Release gives the module back, its kernels having gone before.
func (m *Module) Release() error {
	return m.release(func(h uintptr) error { return ze.ModuleDestroy(ze.ModuleID(h)) })
}
