package cl

import (
	"errors"
	"runtime"
	"slices"
	"unsafe"

	"github.com/kernstash/kernstash/internal/dl"
	"github.com/kernstash/kernstash/internal/reentry"
)

// stepAside has the layer take no notice of the programs that this thread creates. Drivers,
// and the layers with them, are loaded before there is a context to create programs in.
var stepAside = reentry.Of("kernstash_layer_aside", "libkernstash_opencl_layer.so")

// CreateProgramWithSource makes a program of one source, which may hold NUL.
func CreateProgramWithSource(c ContextID, source []byte) (ProgramID, error) {
	defer stepAside()()
	var pin runtime.Pinner
	defer pin.Unpin()
	first := Addr(source)
	if first != nil {
		pin.Pin(first)
	}
	length := uintptr(len(source))
	h, err := Create("clCreateProgramWithSource", uintptr(c), 1, uintptr(unsafe.Pointer(&first)), uintptr(unsafe.Pointer(&length)))
	return ProgramID(h), err
}

// CreateProgramWithIL makes a program of SPIR-V, through the entry point of the
// extension where the loader has no other.
func CreateProgramWithIL(c ContextID, il []byte) (ProgramID, error) {
	defer stepAside()()
	h, err := Create("clCreateProgramWithIL", uintptr(c), uintptr(Addr(il)), uintptr(len(il)))
	if errors.Is(err, ErrMissing) {
		h, err = Create("clCreateProgramWithILKHR", uintptr(c), uintptr(Addr(il)), uintptr(len(il)))
	}
	return ProgramID(h), err
}

// CreateProgramWithBinary makes a program of one binary that serves all of the
// devices. The error is the first device's status where that says more.
func CreateProgramWithBinary(c ContextID, devices []DeviceID, binary []byte) (ProgramID, error) {
	defer stepAside()()
	var pin runtime.Pinner
	defer pin.Unpin()
	lengths, binaries := make([]uintptr, len(devices)), make([]unsafe.Pointer, len(devices))
	for i := range devices {
		lengths[i], binaries[i] = uintptr(len(binary)), Addr(binary)
	}
	if len(binary) > 0 {
		pin.Pin(&binary[0])
	}
	each := make([]Code, len(devices))
	h, err := Create("clCreateProgramWithBinary", uintptr(c), uintptr(len(devices)), uintptr(Addr(devices)),
		uintptr(Addr(lengths)), uintptr(Addr(binaries)), uintptr(Addr(each)))
	if err != nil {
		return 0, err
	}
	for _, s := range each {
		if err := check("clCreateProgramWithBinary", s); err != nil {
			return 0, errors.Join(err, Status("clReleaseProgram", h))
		}
	}
	return ProgramID(h), nil
}

// BuildProgram compiles and links, and waits for it. Nil options are NULL.
func BuildProgram(p ProgramID, devices []DeviceID, options *string) error {
	return Status("clBuildProgram", uintptr(p), uintptr(len(devices)), uintptr(Addr(devices)), uintptr(Addr(optional(options))), 0, 0)
}

// CompileProgram compiles with headers, which are programs, and waits for it.
func CompileProgram(p ProgramID, devices []DeviceID, options *string, headers []ProgramID, names []string) error {
	var pin runtime.Pinner
	defer pin.Unpin()
	cnames := make([]unsafe.Pointer, len(names))
	for i, name := range names {
		cnames[i] = Addr(dl.CString(name))
		pin.Pin(cnames[i])
	}
	return Status("clCompileProgram", uintptr(p), uintptr(len(devices)), uintptr(Addr(devices)), uintptr(Addr(optional(options))),
		uintptr(len(headers)), uintptr(Addr(headers)), uintptr(Addr(cnames)), 0, 0)
}

// LinkProgram links compiled programs, and waits for it. A link that fails may
// give a program nevertheless, which holds the log and must be released.
func LinkProgram(c ContextID, devices []DeviceID, options *string, programs []ProgramID) (ProgramID, error) {
	defer stepAside()()
	h, err := Create("clLinkProgram", uintptr(c), uintptr(len(devices)), uintptr(Addr(devices)), uintptr(Addr(optional(options))),
		uintptr(len(programs)), uintptr(Addr(programs)), 0, 0)
	return ProgramID(h), err
}

// GetProgramBinary returns the binary for one of the program's devices. It is
// empty where the driver has none.
func GetProgramBinary(p ProgramID, d DeviceID) ([]byte, error) {
	own, err := Info("clGetProgramInfo", ProgramDevices, uintptr(p))
	if err != nil {
		return nil, err
	}
	lengths, err := Info("clGetProgramInfo", ProgramBinarySizes, uintptr(p))
	if err != nil {
		return nil, err
	}
	at, sizes := slices.Index(Numbers(own, nil), uintptr(d)), Numbers(lengths, nil)
	if at < 0 || at >= len(sizes) || sizes[at] == 0 {
		return nil, nil
	}
	out := make([]byte, sizes[at])
	var pin runtime.Pinner
	pin.Pin(&out[0])
	defer pin.Unpin()
	// A NULL pointer asks for nothing (clGetProgramInfo, CL_PROGRAM_BINARIES).
	binaries := make([]unsafe.Pointer, len(sizes))
	binaries[at] = unsafe.Pointer(&out[0])
	return out, Status("clGetProgramInfo", uintptr(p), ProgramBinaries, unsafe.Sizeof(uintptr(0))*uintptr(len(binaries)), uintptr(Addr(binaries)), 0)
}

// CreateKernelsInProgram makes all kernels of a program.
func CreateKernelsInProgram(p ProgramID) ([]KernelID, error) {
	return ids[KernelID](Success, func(n int, first unsafe.Pointer, count *uint32) error {
		return Status("clCreateKernelsInProgram", uintptr(p), uintptr(n), uintptr(first), uintptr(unsafe.Pointer(count)))
	})
}
