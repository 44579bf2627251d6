package cu

import (
	"errors"
	"runtime"
	"unsafe"

	"github.com/kernstash/kernstash/internal/dl"
)

// Module is a CUmodule, Function a CUfunction, Pointer a CUdeviceptr.
type (
	Module   uintptr
	Function uintptr
	Pointer  uint64
)

var (
	cuModuleLoadDataEx         = entry{name: "cuModuleLoadDataEx"}
	cuModuleUnload             = entry{name: "cuModuleUnload"}
	cuModuleGetFunction        = entry{name: "cuModuleGetFunction"}
	cuModuleGetGlobal          = entry{name: "cuModuleGetGlobal_v2"}
	cuModuleGetFunctionCount   = entry{name: "cuModuleGetFunctionCount"}
	cuModuleEnumerateFunctions = entry{name: "cuModuleEnumerateFunctions"}
	cuFuncGetName              = entry{name: "cuFuncGetName"}
	cuFuncGetAttribute         = entry{name: "cuFuncGetAttribute"}
	cuFuncSetAttribute         = entry{name: "cuFuncSetAttribute"}
	cuFuncGetParamInfo         = entry{name: "cuFuncGetParamInfo"}
)

// ModuleLoadData makes a module, in the current context, of a cubin, a fat
// binary, or PTX with a NUL behind it. log is what the driver's compiler says.
func ModuleLoadData(image []byte, options ...JITOption) (m Module, log string, err error) {
	j := newJIT(options)
	defer j.unpin()
	id := new(Module)
	err = cuModuleLoadDataEx.call(uintptr(unsafe.Pointer(id)), uintptr(addr(image)),
		uintptr(len(j.names)), uintptr(addr(j.names)), uintptr(addr(j.values)))
	return *id, j.log(), err
}

// ModuleUnload ends a module.
func ModuleUnload(m Module) error { return cuModuleUnload.call(uintptr(m)) }

// ModuleGetFunction returns the kernel of a name, which lives as long as its
// module.
func ModuleGetFunction(m Module, name string) (Function, error) {
	f := new(Function)
	err := cuModuleGetFunction.call(uintptr(unsafe.Pointer(f)), uintptr(m), uintptr(addr(dl.CString(name))))
	return *f, err
}

// ModuleGetGlobal returns where a module's variable is, and its bytes.
func ModuleGetGlobal(m Module, name string) (Pointer, int, error) {
	p, n := new(Pointer), new(uintptr)
	err := cuModuleGetGlobal.call(uintptr(unsafe.Pointer(p)), uintptr(unsafe.Pointer(n)), uintptr(m), uintptr(addr(dl.CString(name))))
	return *p, int(*n), err
}

// ModuleFunctionNames returns the names of a module's kernels. It needs CUDA 12.4.
func ModuleFunctionNames(m Module) ([]string, error) {
	n := new(uint32)
	if err := cuModuleGetFunctionCount.call(uintptr(unsafe.Pointer(n)), uintptr(m)); err != nil {
		return nil, err
	}
	functions := make([]Function, *n)
	if err := cuModuleEnumerateFunctions.call(uintptr(addr(functions)), uintptr(len(functions)), uintptr(m)); err != nil {
		return nil, err
	}
	names := make([]string, len(functions))
	for i, f := range functions {
		s := new(uintptr)
		if err := cuFuncGetName.call(uintptr(unsafe.Pointer(s)), uintptr(f)); err != nil {
			return nil, err
		}
		names[i] = dl.String(*s)
	}
	return names, nil
}

// FunctionAttribute is a CUfunction_attribute.
type FunctionAttribute int32

// Attributes of functions.
const (
	FunctionMaxThreadsPerBlock FunctionAttribute = 0
	FunctionSharedSize         FunctionAttribute = 1 // bytes, without what a launch adds
	FunctionConstSize          FunctionAttribute = 2
	FunctionLocalSize          FunctionAttribute = 3
	FunctionRegisters          FunctionAttribute = 4
	FunctionPTXVersion         FunctionAttribute = 5
	FunctionBinaryVersion      FunctionAttribute = 6
	FunctionMaxDynamicShared   FunctionAttribute = 8
)

// FuncGetAttribute returns a number that says what a function is.
func FuncGetAttribute(a FunctionAttribute, f Function) (int, error) {
	v := new(int32)
	err := cuFuncGetAttribute.call(uintptr(unsafe.Pointer(v)), uintptr(a), uintptr(f))
	return int(*v), err
}

// FuncSetAttribute sets one.
func FuncSetAttribute(f Function, a FunctionAttribute, value int) error {
	return cuFuncSetAttribute.call(uintptr(f), uintptr(a), uintptr(value))
}

// FuncParamSizes returns the bytes of each parameter; ok is false where the
// library is older than CUDA 12.4, which cannot tell.
func FuncParamSizes(f Function) (sizes []int, ok bool) {
	if !cuFuncGetParamInfo.there() {
		return nil, false
	}
	offset, size := new(uintptr), new(uintptr)
	for i := 0; i < maxParams; i++ {
		err := cuFuncGetParamInfo.call(uintptr(f), uintptr(i), uintptr(unsafe.Pointer(offset)), uintptr(unsafe.Pointer(size)))
		switch {
		case errors.Is(err, InvalidValue):
			return sizes, true // there is no such parameter
		case err != nil:
			return nil, false
		}
		sizes = append(sizes, int(*size))
	}
	return nil, false
}

// maxParams is more than fit the 32,764 bytes that a kernel's parameters can have.
const maxParams = 32 << 10

// JITOption is an option of the driver's compiler: a CUjit_option and its value.
type JITOption struct {
	Name  JITName
	Value uintptr
}

// JITName is a CUjit_option.
type JITName int32

// Options of the driver's compiler.
const (
	JITMaxRegisters      JITName = 0
	jitInfoLog           JITName = 3
	jitInfoLogSize       JITName = 4
	jitErrorLog          JITName = 5
	jitErrorLogSize      JITName = 6
	JITOptimizationLevel JITName = 7
	JITDebugInfo         JITName = 11
	JITVerbose           JITName = 12
	JITLineInfo          JITName = 13
)

// maxLog is what is kept of either log.
const maxLog = 16 << 10

// jit holds options in the form that C takes, with two logs. It is pinned, since
// the driver keeps pointers to it between the calls of a link.
type jit struct {
	names       []JITName
	values      []uintptr
	info, fails []byte
	pin         runtime.Pinner
}

func newJIT(options []JITOption) *jit {
	j := &jit{info: make([]byte, maxLog), fails: make([]byte, maxLog)}
	for _, o := range options {
		j.names, j.values = append(j.names, o.Name), append(j.values, o.Value)
	}
	j.names = append(j.names, jitInfoLog, jitInfoLogSize, jitErrorLog, jitErrorLogSize)
	j.values = append(j.values, uintptr(addr(j.info)), maxLog, uintptr(addr(j.fails)), maxLog)
	j.pin.Pin(&j.info[0])
	j.pin.Pin(&j.fails[0])
	j.pin.Pin(&j.names[0])
	j.pin.Pin(&j.values[0])
	return j
}

func (j *jit) unpin() { j.pin.Unpin() }

// log is what the driver's compiler said so far.
func (j *jit) log() string {
	info, fails := text(j.info), text(j.fails)
	switch {
	case fails == "":
		return info
	case info == "":
		return fails
	}
	return fails + "\n" + info
}
