package cuda

import (
	"errors"
	"fmt"

	"github.com/kernstash/kernstash"
	"github.com/kernstash/kernstash/gpu/cuda/internal/cu"
	"github.com/kernstash/kernstash/internal/handle"
)

// Error is a call of CUDA's driver API that failed. It names the C function and
// wraps its Code.
type Error = cu.Error

// Code is a CUresult. It is an error, for errors.Is.
type Code = cu.Code

// ErrNoDriver is wrapped where there is no driver, or none that works: its
// library cannot be opened, or says at its first call that it cannot serve (the
// Code is wrapped too). The message says what to do.
var ErrNoDriver = cu.ErrNoDriver

// ErrMissing is wrapped where the driver is older than a call needs. The message
// names the entry point, and the driver's version.
var ErrMissing = cu.ErrMissing

// ErrReleased is wrapped by every call on an object that was released.
var ErrReleased = handle.ErrReleased

// ErrArgument is wrapped when an argument cannot be what a call needs; no driver
// was asked.
var ErrArgument = errors.New("bad argument")

// resources adds kernstash.ErrOutOfResources to an error that says so.
func resources(err error) error {
	if errors.Is(err, OutOfMemory) {
		return fmt.Errorf("%w: %w", kernstash.ErrOutOfResources, err)
	}
	return err
}

// The codes of cuda.h that a program may have to tell apart: NoBinaryForGPU is
// CUDA_ERROR_NO_BINARY_FOR_GPU.
const (
	InvalidValue               = cu.InvalidValue
	OutOfMemory                = cu.OutOfMemory
	NotInitialized             = cu.NotInitialized
	Deinitialized              = cu.Deinitialized
	StubLibrary                = cu.StubLibrary
	DeviceUnavailable          = cu.DeviceUnavailable
	NoDevice                   = cu.NoDevice
	InvalidDevice              = cu.InvalidDevice
	DeviceNotLicensed          = cu.DeviceNotLicensed
	InvalidImage               = cu.InvalidImage
	InvalidContext             = cu.InvalidContext
	MapFailed                  = cu.MapFailed
	NoBinaryForGPU             = cu.NoBinaryForGPU
	ECCUncorrectable           = cu.ECCUncorrectable
	InvalidPTX                 = cu.InvalidPTX
	JITCompilerNotFound        = cu.JITCompilerNotFound
	UnsupportedPTXVersion      = cu.UnsupportedPTXVersion
	JITCompilationDisabled     = cu.JITCompilationDisabled
	InvalidSource              = cu.InvalidSource
	FileNotFound               = cu.FileNotFound
	SharedObjectSymbolNotFound = cu.SharedObjectSymbolNotFound
	SharedObjectInitFailed     = cu.SharedObjectInitFailed
	OperatingSystem            = cu.OperatingSystem
	InvalidHandle              = cu.InvalidHandle
	NotFound                   = cu.NotFound
	NotReady                   = cu.NotReady
	IllegalAddress             = cu.IllegalAddress
	LaunchOutOfResources       = cu.LaunchOutOfResources
	LaunchTimeout              = cu.LaunchTimeout
	ContextIsDestroyed         = cu.ContextIsDestroyed
	Assert                     = cu.Assert
	IllegalInstruction         = cu.IllegalInstruction
	MisalignedAddress          = cu.MisalignedAddress
	LaunchFailed               = cu.LaunchFailed
	NotPermitted               = cu.NotPermitted
	NotSupported               = cu.NotSupported
	SystemNotReady             = cu.SystemNotReady
	SystemDriverMismatch       = cu.SystemDriverMismatch
	CompatNotSupportedOnDevice = cu.CompatNotSupportedOnDevice
	UnknownError               = cu.Unknown
)
