package levelzero

import (
	"errors"
	"fmt"
	"strings"
	"sync"

	"github.com/kernstash/kernstash"
	"github.com/kernstash/kernstash/internal/dl"
	"github.com/kernstash/kernstash/internal/handle"
)

// ErrUnavailable is wrapped where there is no Level Zero loader, or where it has no driver.
var ErrUnavailable = errors.New("no Level Zero here")

// ErrMissing is wrapped where the loader is older than a call needs.
var ErrMissing = errors.New("the Level Zero loader does not have it")

// ErrReleased is wrapped by every call on an object that was released.
var ErrReleased = handle.ErrReleased

// ErrArgument is wrapped when an argument cannot be what a call needs; no driver was asked.
var ErrArgument = errors.New("bad argument")

// unavailable adds ErrUnavailable to an error that says so.
func unavailable(err error) error {
	if errors.Is(err, dl.ErrNoLibrary) || errors.Is(err, Uninitialized) || errors.Is(err, dl.ErrUnsupported) {
		return fmt.Errorf("%w: %w", ErrUnavailable, err)
	}
	return err
}

// resources adds kernstash.ErrOutOfResources to an error that says so, once.
func resources(err error) error {
	if errors.Is(err, kernstash.ErrOutOfResources) {
		return err
	}
	if errors.Is(err, OutOfHostMemory) || errors.Is(err, OutOfDeviceMemory) {
		return fmt.Errorf("%w: %w", kernstash.ErrOutOfResources, err)
	}
	return err
}

// Error is a Level Zero call that failed. It names the C function and wraps its Result.
type Error struct {
	Call   string
	Result Result
}

func (e *Error) Error() string { return e.Call + ": " + e.Result.Error() }
func (e *Error) Unwrap() error { return e.Result }

// Result is a ze_result_t. It is an error, for errors.Is.
type Result uint32

// The results that say something: InvalidKernelName is ZE_RESULT_ERROR_INVALID_KERNEL_NAME.
const (
	NotReady                   Result = 1
	DeviceLost                 Result = 0x70000001
	OutOfHostMemory            Result = 0x70000002
	OutOfDeviceMemory          Result = 0x70000003
	ModuleBuildFailure         Result = 0x70000004
	ModuleLinkFailure          Result = 0x70000005
	Uninitialized              Result = 0x78000001
	UnsupportedFeature         Result = 0x78000003
	InvalidArgument            Result = 0x78000004
	InvalidNullHandle          Result = 0x78000005
	InvalidNullPointer         Result = 0x78000007
	InvalidSize                Result = 0x78000008
	InvalidNativeBinary        Result = 0x7800000f
	InvalidGlobalName          Result = 0x78000010
	InvalidKernelName          Result = 0x78000011
	InvalidFunctionName        Result = 0x78000012
	InvalidGroupSizeDimension  Result = 0x78000013
	InvalidKernelArgumentIndex Result = 0x78000015
	InvalidKernelArgumentSize  Result = 0x78000016
	InvalidModuleUnlinked      Result = 0x78000018
)

// resultNames are those of Level Zero 1.8, without "ZE_RESULT_". They are made when an error
// is told, not whenever a process starts.
var resultNames = sync.OnceValue(func() map[Result]string {
	names := map[Result]string{NotReady: "NOT_READY"}
	for first, list := range map[Result]string{
		DeviceLost: `
			DEVICE_LOST OUT_OF_HOST_MEMORY OUT_OF_DEVICE_MEMORY MODULE_BUILD_FAILURE MODULE_LINK_FAILURE
			DEVICE_REQUIRES_RESET DEVICE_IN_LOW_POWER_STATE`,
		0x70010000: "INSUFFICIENT_PERMISSIONS NOT_AVAILABLE",
		0x70020000: "DEPENDENCY_UNAVAILABLE",
		Uninitialized: `
			UNINITIALIZED UNSUPPORTED_VERSION UNSUPPORTED_FEATURE INVALID_ARGUMENT INVALID_NULL_HANDLE HANDLE_OBJECT_IN_USE
			INVALID_NULL_POINTER INVALID_SIZE UNSUPPORTED_SIZE UNSUPPORTED_ALIGNMENT INVALID_SYNCHRONIZATION_OBJECT
			INVALID_ENUMERATION UNSUPPORTED_ENUMERATION UNSUPPORTED_IMAGE_FORMAT INVALID_NATIVE_BINARY INVALID_GLOBAL_NAME
			INVALID_KERNEL_NAME INVALID_FUNCTION_NAME INVALID_GROUP_SIZE_DIMENSION INVALID_GLOBAL_WIDTH_DIMENSION
			INVALID_KERNEL_ARGUMENT_INDEX INVALID_KERNEL_ARGUMENT_SIZE INVALID_KERNEL_ATTRIBUTE_VALUE INVALID_MODULE_UNLINKED
			INVALID_COMMAND_LIST_TYPE OVERLAPPING_REGIONS`,
		0x7ffffffe: "UNKNOWN",
	} {
		for i, name := range strings.Fields(list) {
			names[first+Result(i)] = "ERROR_" + name
		}
	}
	return names
})

func (r Result) Error() string {
	if name, ok := resultNames()[r]; ok {
		return "ZE_RESULT_" + name
	}
	return fmt.Sprintf("ze_result_t 0x%x", uint32(r))
}
