package cu

import "fmt"

// Code is a CUresult. It is an error, so that errors.Is can compare what a call
// returned with one of the codes.
type Code int32

// Success is CUDA_SUCCESS.
const Success Code = 0

// The codes of cuda.h that a program may have to tell apart; the others print as
// numbers.
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
	MapFailed                  Code = 205
	NoBinaryForGPU             Code = 209
	ECCUncorrectable           Code = 214
	UnsupportedLimit           Code = 215
	InvalidPTX                 Code = 218
	InvalidGraphicsContext     Code = 219
	NVLinkUncorrectable        Code = 220
	JITCompilerNotFound        Code = 221
	UnsupportedPTXVersion      Code = 222
	JITCompilationDisabled     Code = 223
	UnsupportedExecAffinity    Code = 224
	UnsupportedDevsideSync     Code = 225
	InvalidSource              Code = 300
	FileNotFound               Code = 301
	SharedObjectSymbolNotFound Code = 302
	SharedObjectInitFailed     Code = 303
	OperatingSystem            Code = 304
	InvalidHandle              Code = 400
	IllegalState               Code = 401
	NotFound                   Code = 500
	NotReady                   Code = 600
	IllegalAddress             Code = 700
	LaunchOutOfResources       Code = 701
	LaunchTimeout              Code = 702
	PrimaryContextActive       Code = 708
	ContextIsDestroyed         Code = 709
	Assert                     Code = 710
	HardwareStackError         Code = 714
	IllegalInstruction         Code = 715
	MisalignedAddress          Code = 716
	InvalidAddressSpace        Code = 717
	InvalidPC                  Code = 718
	LaunchFailed               Code = 719
	CooperativeLaunchTooLarge  Code = 720
	NotPermitted               Code = 800
	NotSupported               Code = 801
	SystemNotReady             Code = 802
	SystemDriverMismatch       Code = 803
	CompatNotSupportedOnDevice Code = 804
	Unknown                    Code = 999
)

var codeNames = map[Code]string{
	Success: "CUDA_SUCCESS", InvalidValue: "CUDA_ERROR_INVALID_VALUE", OutOfMemory: "CUDA_ERROR_OUT_OF_MEMORY",
	NotInitialized: "CUDA_ERROR_NOT_INITIALIZED", Deinitialized: "CUDA_ERROR_DEINITIALIZED",
	StubLibrary: "CUDA_ERROR_STUB_LIBRARY", DeviceUnavailable: "CUDA_ERROR_DEVICE_UNAVAILABLE",
	NoDevice: "CUDA_ERROR_NO_DEVICE", InvalidDevice: "CUDA_ERROR_INVALID_DEVICE",
	DeviceNotLicensed: "CUDA_ERROR_DEVICE_NOT_LICENSED", InvalidImage: "CUDA_ERROR_INVALID_IMAGE",
	InvalidContext: "CUDA_ERROR_INVALID_CONTEXT", MapFailed: "CUDA_ERROR_MAP_FAILED",
	NoBinaryForGPU: "CUDA_ERROR_NO_BINARY_FOR_GPU", ECCUncorrectable: "CUDA_ERROR_ECC_UNCORRECTABLE",
	UnsupportedLimit: "CUDA_ERROR_UNSUPPORTED_LIMIT", InvalidPTX: "CUDA_ERROR_INVALID_PTX",
	InvalidGraphicsContext: "CUDA_ERROR_INVALID_GRAPHICS_CONTEXT", NVLinkUncorrectable: "CUDA_ERROR_NVLINK_UNCORRECTABLE",
	JITCompilerNotFound: "CUDA_ERROR_JIT_COMPILER_NOT_FOUND", UnsupportedPTXVersion: "CUDA_ERROR_UNSUPPORTED_PTX_VERSION",
	JITCompilationDisabled: "CUDA_ERROR_JIT_COMPILATION_DISABLED", UnsupportedExecAffinity: "CUDA_ERROR_UNSUPPORTED_EXEC_AFFINITY",
	UnsupportedDevsideSync: "CUDA_ERROR_UNSUPPORTED_DEVSIDE_SYNC",
	InvalidSource:          "CUDA_ERROR_INVALID_SOURCE", FileNotFound: "CUDA_ERROR_FILE_NOT_FOUND",
	SharedObjectSymbolNotFound: "CUDA_ERROR_SHARED_OBJECT_SYMBOL_NOT_FOUND",
	SharedObjectInitFailed:     "CUDA_ERROR_SHARED_OBJECT_INIT_FAILED", OperatingSystem: "CUDA_ERROR_OPERATING_SYSTEM",
	InvalidHandle: "CUDA_ERROR_INVALID_HANDLE", IllegalState: "CUDA_ERROR_ILLEGAL_STATE", NotFound: "CUDA_ERROR_NOT_FOUND",
	NotReady: "CUDA_ERROR_NOT_READY", IllegalAddress: "CUDA_ERROR_ILLEGAL_ADDRESS",
	LaunchOutOfResources: "CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES", LaunchTimeout: "CUDA_ERROR_LAUNCH_TIMEOUT",
	PrimaryContextActive: "CUDA_ERROR_PRIMARY_CONTEXT_ACTIVE", ContextIsDestroyed: "CUDA_ERROR_CONTEXT_IS_DESTROYED",
	Assert: "CUDA_ERROR_ASSERT", HardwareStackError: "CUDA_ERROR_HARDWARE_STACK_ERROR",
	IllegalInstruction: "CUDA_ERROR_ILLEGAL_INSTRUCTION", MisalignedAddress: "CUDA_ERROR_MISALIGNED_ADDRESS",
	InvalidAddressSpace: "CUDA_ERROR_INVALID_ADDRESS_SPACE", InvalidPC: "CUDA_ERROR_INVALID_PC",
	LaunchFailed: "CUDA_ERROR_LAUNCH_FAILED", CooperativeLaunchTooLarge: "CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE",
	NotPermitted: "CUDA_ERROR_NOT_PERMITTED", NotSupported: "CUDA_ERROR_NOT_SUPPORTED",
	SystemNotReady: "CUDA_ERROR_SYSTEM_NOT_READY", SystemDriverMismatch: "CUDA_ERROR_SYSTEM_DRIVER_MISMATCH",
	CompatNotSupportedOnDevice: "CUDA_ERROR_COMPAT_NOT_SUPPORTED_ON_DEVICE", Unknown: "CUDA_ERROR_UNKNOWN",
}

func (c Code) String() string {
	if s, ok := codeNames[c]; ok {
		return s
	}
	return fmt.Sprintf("CUDA error %d", int32(c))
}

func (c Code) Error() string { return c.String() }

// Error is a call of the driver that failed.
type Error struct {
	Call string // the C function
	Code Code
}

func (e *Error) Error() string { return e.Call + ": " + e.Code.String() }

// Unwrap returns the Code.
func (e *Error) Unwrap() error { return e.Code }
