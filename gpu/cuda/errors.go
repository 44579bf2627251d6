package cuda

import (
	"errors"
	"fmt"
	"unsafe"

	"github.com/kernstash/kernstash"
	"github.com/kernstash/kernstash/internal/dl"
	"github.com/kernstash/kernstash/internal/handle"
)

// ErrNoDriver is wrapped where there is no driver, or none that works: its
// library cannot be opened, or says at its first call that it cannot serve (the
// Code is wrapped too). The message says what to do.
var ErrNoDriver = errors.New("no NVIDIA driver that works")

// ErrMissing is wrapped where the driver is older than a call needs. The message
// names the entry point, and the driver's version.
var ErrMissing = errors.New("the driver's library does not have it")

// ErrReleased is wrapped by every call on an object that was released.
var ErrReleased = handle.ErrReleased

// ErrArgument is wrapped when an argument cannot be what a call needs; no driver was asked.
var ErrArgument = errors.New("bad argument")

// resources adds kernstash.ErrOutOfResources to an error that says so.
func resources(err error) error {
	if errors.Is(err, OutOfMemory) {
		return fmt.Errorf("%w: %w", kernstash.ErrOutOfResources, err)
	}
	return err
}

// Error is a call of CUDA's driver API that failed. It names the C function and wraps its Code.
type Error struct {
	Call string // the C function
	Code Code
}

func (e *Error) Error() string { return e.Call + ": " + e.Code.String() }

// Unwrap returns the Code.
func (e *Error) Unwrap() error { return e.Code }

// Code is a CUresult. It is an error, for errors.Is.
type Code int32

func (c Code) Error() string { return c.String() }

// String returns the driver's name of the code, "CUDA_ERROR_NO_DEVICE", where it has one.
func (c Code) String() string {
	var name uintptr
	if err := call("cuGetErrorName", uintptr(c), uintptr(unsafe.Pointer(&name))); err != nil || name == 0 {
		return fmt.Sprintf("CUDA error %d", int32(c))
	}
	return dl.String(name)
}

// The codes of cuda.h that a program may have to tell apart: NoBinaryForGPU is
// CUDA_ERROR_NO_BINARY_FOR_GPU.
const (
	InvalidValue               Code = 1
	OutOfMemory                Code = 2
	NotInitialized             Code = 3
	Deinitialized              Code = 4
	StubLibrary                Code = 34
	DeviceUnavailable          Code = 46
	NoDevice                   Code = 100
	InvalidDevice              Code = 101
	DeviceNotLicensed          Code = 102
	InvalidImage               Code = 200
	InvalidContext             Code = 201
	NoBinaryForGPU             Code = 209
	ECCUncorrectable           Code = 214
	InvalidPTX                 Code = 218
	JITCompilerNotFound        Code = 221
	UnsupportedPTXVersion      Code = 222
	JITCompilationDisabled     Code = 223
	UnsupportedDevsideSync     Code = 225
	InvalidSource              Code = 300
	FileNotFound               Code = 301
	SharedObjectSymbolNotFound Code = 302
	SharedObjectInitFailed     Code = 303
	OperatingSystem            Code = 304
	InvalidHandle              Code = 400
	NotFound                   Code = 500
	NotReady                   Code = 600
	IllegalAddress             Code = 700
	LaunchOutOfResources       Code = 701
	LaunchTimeout              Code = 702
	ContextIsDestroyed         Code = 709
	Assert                     Code = 710
	IllegalInstruction         Code = 715
	MisalignedAddress          Code = 716
	LaunchFailed               Code = 719
	NotPermitted               Code = 800
	NotSupported               Code = 801
	SystemNotReady             Code = 802
	SystemDriverMismatch       Code = 803
	CompatNotSupportedOnDevice Code = 804
	UnknownError               Code = 999
)
