package ze

import (
	"fmt"
	"sync"
)

// Result is a ze_result_t. It is an error, so that errors.Is can compare what a
// call returned with one of the results.
type Result uint32

// Success is ZE_RESULT_SUCCESS.
const Success Result = 0

// The results of Level Zero 1.8.
const (
	NotReady                     Result = 1
	DeviceLost                   Result = 0x70000001
	OutOfHostMemory              Result = 0x70000002
	OutOfDeviceMemory            Result = 0x70000003
	ModuleBuildFailure           Result = 0x70000004
	ModuleLinkFailure            Result = 0x70000005
	DeviceRequiresReset          Result = 0x70000006
	DeviceInLowPowerState        Result = 0x70000007
	InsufficientPermissions      Result = 0x70010000
	NotAvailable                 Result = 0x70010001
	DependencyUnavailable        Result = 0x70020000
	Uninitialized                Result = 0x78000001
	UnsupportedVersion           Result = 0x78000002
	UnsupportedFeature           Result = 0x78000003
	InvalidArgument              Result = 0x78000004
	InvalidNullHandle            Result = 0x78000005
	HandleObjectInUse            Result = 0x78000006
	InvalidNullPointer           Result = 0x78000007
	InvalidSize                  Result = 0x78000008
	UnsupportedSize              Result = 0x78000009
	UnsupportedAlignment         Result = 0x7800000a
	InvalidSynchronizationObject Result = 0x7800000b
	InvalidEnumeration           Result = 0x7800000c
	UnsupportedEnumeration       Result = 0x7800000d
	UnsupportedImageFormat       Result = 0x7800000e
	InvalidNativeBinary          Result = 0x7800000f
	InvalidGlobalName            Result = 0x78000010
	InvalidKernelName            Result = 0x78000011
	InvalidFunctionName          Result = 0x78000012
	InvalidGroupSizeDimension    Result = 0x78000013
	InvalidGlobalWidthDimension  Result = 0x78000014
	InvalidKernelArgumentIndex   Result = 0x78000015
	InvalidKernelArgumentSize    Result = 0x78000016
	InvalidKernelAttributeValue  Result = 0x78000017
	InvalidModuleUnlinked        Result = 0x78000018
	InvalidCommandListType       Result = 0x78000019
	OverlappingRegions           Result = 0x7800001a
	Unknown                      Result = 0x7ffffffe
)

// resultNames are made when an error is told, not whenever a process starts.
var resultNames = sync.OnceValue(func() map[Result]string {
	return map[Result]string{
		NotReady:                     "NOT_READY",
		DeviceLost:                   "ERROR_DEVICE_LOST",
		OutOfHostMemory:              "ERROR_OUT_OF_HOST_MEMORY",
		OutOfDeviceMemory:            "ERROR_OUT_OF_DEVICE_MEMORY",
		ModuleBuildFailure:           "ERROR_MODULE_BUILD_FAILURE",
		ModuleLinkFailure:            "ERROR_MODULE_LINK_FAILURE",
		DeviceRequiresReset:          "ERROR_DEVICE_REQUIRES_RESET",
		DeviceInLowPowerState:        "ERROR_DEVICE_IN_LOW_POWER_STATE",
		InsufficientPermissions:      "ERROR_INSUFFICIENT_PERMISSIONS",
		NotAvailable:                 "ERROR_NOT_AVAILABLE",
		DependencyUnavailable:        "ERROR_DEPENDENCY_UNAVAILABLE",
		Uninitialized:                "ERROR_UNINITIALIZED",
		UnsupportedVersion:           "ERROR_UNSUPPORTED_VERSION",
		UnsupportedFeature:           "ERROR_UNSUPPORTED_FEATURE",
		InvalidArgument:              "ERROR_INVALID_ARGUMENT",
		InvalidNullHandle:            "ERROR_INVALID_NULL_HANDLE",
		HandleObjectInUse:            "ERROR_HANDLE_OBJECT_IN_USE",
		InvalidNullPointer:           "ERROR_INVALID_NULL_POINTER",
		InvalidSize:                  "ERROR_INVALID_SIZE",
		UnsupportedSize:              "ERROR_UNSUPPORTED_SIZE",
		UnsupportedAlignment:         "ERROR_UNSUPPORTED_ALIGNMENT",
		InvalidSynchronizationObject: "ERROR_INVALID_SYNCHRONIZATION_OBJECT",
		InvalidEnumeration:           "ERROR_INVALID_ENUMERATION",
		UnsupportedEnumeration:       "ERROR_UNSUPPORTED_ENUMERATION",
		UnsupportedImageFormat:       "ERROR_UNSUPPORTED_IMAGE_FORMAT",
		InvalidNativeBinary:          "ERROR_INVALID_NATIVE_BINARY",
		InvalidGlobalName:            "ERROR_INVALID_GLOBAL_NAME",
		InvalidKernelName:            "ERROR_INVALID_KERNEL_NAME",
		InvalidFunctionName:          "ERROR_INVALID_FUNCTION_NAME",
		InvalidGroupSizeDimension:    "ERROR_INVALID_GROUP_SIZE_DIMENSION",
		InvalidGlobalWidthDimension:  "ERROR_INVALID_GLOBAL_WIDTH_DIMENSION",
		InvalidKernelArgumentIndex:   "ERROR_INVALID_KERNEL_ARGUMENT_INDEX",
		InvalidKernelArgumentSize:    "ERROR_INVALID_KERNEL_ARGUMENT_SIZE",
		InvalidKernelAttributeValue:  "ERROR_INVALID_KERNEL_ATTRIBUTE_VALUE",
		InvalidModuleUnlinked:        "ERROR_INVALID_MODULE_UNLINKED",
		InvalidCommandListType:       "ERROR_INVALID_COMMAND_LIST_TYPE",
		OverlappingRegions:           "ERROR_OVERLAPPING_REGIONS",
		Unknown:                      "ERROR_UNKNOWN",
	}
})

func (r Result) Error() string {
	if name, ok := resultNames()[r]; ok {
		return "ZE_RESULT_" + name
	}
	return fmt.Sprintf("ze_result_t 0x%x", uint32(r))
}

// Error is a call that failed. It names the C function and wraps its Result.
type Error struct {
	Call   string
	Result Result
}

func (e *Error) Error() string { return e.Call + ": " + e.Result.Error() }
func (e *Error) Unwrap() error { return e.Result }
