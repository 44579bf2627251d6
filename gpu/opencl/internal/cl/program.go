package cl

import (
	"encoding/binary"
	"errors"
	"runtime"
	"unsafe"

	"github.com/kernstash/kernstash/internal/dl"
)

// ProgramID is a cl_program.
type ProgramID uintptr

var (
	clCreateProgramWithSource          = entry{name: "clCreateProgramWithSource"}
	clCreateProgramWithIL              = entry{name: "clCreateProgramWithIL"}
	clCreateProgramWithILKHR           = entry{name: "clCreateProgramWithILKHR"}
	clCreateProgramWithBinary          = entry{name: "clCreateProgramWithBinary"}
	clSetProgramSpecializationConstant = entry{name: "clSetProgramSpecializationConstant"}
	clBuildProgram                     = entry{name: "clBuildProgram"}
	clCompileProgram                   = entry{name: "clCompileProgram"}
	clLinkProgram                      = entry{name: "clLinkProgram"}
	clGetProgramInfo                   = entry{name: "clGetProgramInfo"}
	clGetProgramBuildInfo              = entry{name: "clGetProgramBuildInfo"}
	clReleaseProgram                   = entry{name: "clReleaseProgram"}
)

// CreateProgramWithSource makes a program of one source, which may hold NUL.
func CreateProgramWithSource(c ContextID, source []byte) (ProgramID, error) {
	defer stepAside()()
	var pin runtime.Pinner
	defer pin.Unpin()
	first := addr(source)
	if first != nil {
		pin.Pin(first)
	}
	length := uintptr(len(source))
	code := new(Code)
	h, err := clCreateProgramWithSource.create(code, uintptr(c), 1, uintptr(unsafe.Pointer(&first)), uintptr(unsafe.Pointer(&length)),
		uintptr(unsafe.Pointer(code)))
	return ProgramID(h), err
}

// CreateProgramWithIL makes a program of SPIR-V, through the entry point of the
// extension where the loader has no other.
func CreateProgramWithIL(c ContextID, il []byte) (ProgramID, error) {
	defer stepAside()()
	code := new(Code)
	h, err := clCreateProgramWithIL.create(code, uintptr(c), uintptr(addr(il)), uintptr(len(il)), uintptr(unsafe.Pointer(code)))
	if errors.Is(err, ErrMissing) {
		h, err = clCreateProgramWithILKHR.create(code, uintptr(c), uintptr(addr(il)), uintptr(len(il)), uintptr(unsafe.Pointer(code)))
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
		lengths[i], binaries[i] = uintptr(len(binary)), addr(binary)
	}
	if len(binary) > 0 {
		pin.Pin(&binary[0])
	}
	each := make([]Code, len(devices))
	code := new(Code)
	h, err := clCreateProgramWithBinary.create(code, uintptr(c), uintptr(len(devices)), uintptr(addr(devices)),
		uintptr(addr(lengths)), uintptr(addr(binaries)), uintptr(addr(each)), uintptr(unsafe.Pointer(code)))
	if err != nil {
		return 0, err
	}
	for _, s := range each {
		if err := clCreateProgramWithBinary.check(s); err != nil {
			return 0, errors.Join(err, ReleaseProgram(ProgramID(h)))
		}
	}
	return ProgramID(h), nil
}

// SetProgramSpecializationConstant sets a constant for the next build.
func SetProgramSpecializationConstant(p ProgramID, id uint32, value []byte) error {
	return clSetProgramSpecializationConstant.status(uintptr(p), uintptr(id), uintptr(len(value)), uintptr(addr(value)))
}

// BuildProgram compiles and links, and waits for it. Nil options are NULL.
func BuildProgram(p ProgramID, devices []DeviceID, options *string) error {
	return clBuildProgram.status(uintptr(p), uintptr(len(devices)), uintptr(addr(devices)), uintptr(addr(optional(options))), 0, 0)
}

// CompileProgram compiles with headers, which are programs, and waits for it.
func CompileProgram(p ProgramID, devices []DeviceID, options *string, headers []ProgramID, names []string) error {
	var pin runtime.Pinner
	defer pin.Unpin()
	cnames := make([]unsafe.Pointer, len(names))
	for i, name := range names {
		cnames[i] = addr(dl.CString(name))
		pin.Pin(cnames[i])
	}
	return clCompileProgram.status(uintptr(p), uintptr(len(devices)), uintptr(addr(devices)), uintptr(addr(optional(options))),
		uintptr(len(headers)), uintptr(addr(headers)), uintptr(addr(cnames)), 0, 0)
}

// LinkProgram links compiled programs, and waits for it. A link that fails may
// give a program nevertheless, which holds the log and must be released.
func LinkProgram(c ContextID, devices []DeviceID, options *string, programs []ProgramID) (ProgramID, error) {
	defer stepAside()()
	code := new(Code)
	h, err := clLinkProgram.create(code, uintptr(c), uintptr(len(devices)), uintptr(addr(devices)), uintptr(addr(optional(options))),
		uintptr(len(programs)), uintptr(addr(programs)), 0, 0, uintptr(unsafe.Pointer(code)))
	return ProgramID(h), err
}

// GetProgramInfo returns the value of a parameter.
func GetProgramInfo(p ProgramID, param uint32) ([]byte, error) {
	return clGetProgramInfo.info(param, uintptr(p))
}

// GetProgramBuildInfo returns the value of a parameter of a build.
func GetProgramBuildInfo(p ProgramID, d DeviceID, param uint32) ([]byte, error) {
	return clGetProgramBuildInfo.info(param, uintptr(p), uintptr(d))
}

// GetProgramBinary returns the binary for one of the program's devices. It is
// empty where the driver has none.
func GetProgramBinary(p ProgramID, d DeviceID) ([]byte, error) {
	devices, err := words(GetProgramInfo(p, ProgramDevices))
	if err != nil {
		return nil, err
	}
	sizes, err := words(GetProgramInfo(p, ProgramBinarySizes))
	if err != nil {
		return nil, err
	}
	var pin runtime.Pinner
	defer pin.Unpin()
	var out []byte
	// A NULL pointer asks for nothing (clGetProgramInfo, CL_PROGRAM_BINARIES).
	binaries := make([]unsafe.Pointer, len(sizes))
	for i, n := range sizes {
		if i < len(devices) && devices[i] == uint64(d) && n > 0 && out == nil {
			out = make([]byte, n)
			pin.Pin(&out[0])
			binaries[i] = unsafe.Pointer(&out[0])
		}
	}
	if out == nil {
		return nil, nil
	}
	return out, clGetProgramInfo.status(uintptr(p), ProgramBinaries, unsafe.Sizeof(uintptr(0))*uintptr(len(binaries)), uintptr(addr(binaries)), 0)
}

// words reads an array of handles or of size_t.
func words(b []byte, err error) ([]uint64, error) {
	w := make([]uint64, 0, len(b)/8)
	for ; len(b) >= 8; b = b[8:] {
		w = append(w, binary.NativeEndian.Uint64(b))
	}
	return w, err
}

// ReleaseProgram counts one user less.
func ReleaseProgram(p ProgramID) error { return clReleaseProgram.status(uintptr(p)) }
