package cl

import (
	"fmt"
	"sync"
)

// Code is a status, a cl_int. It is an error, so that errors.Is can compare
// what a call returned with one of the codes.
type Code int32

// Success is CL_SUCCESS.
const Success Code = 0

// The codes of OpenCL 3.0, and of the loader's extension.
const (
	DeviceNotFound                     Code = -1
	DeviceNotAvailable                 Code = -2
	CompilerNotAvailable               Code = -3
	MemObjectAllocationFailure         Code = -4
	OutOfResources                     Code = -5
	OutOfHostMemory                    Code = -6
	ProfilingInfoNotAvailable          Code = -7
	MemCopyOverlap                     Code = -8
	ImageFormatMismatch                Code = -9
	ImageFormatNotSupported            Code = -10
	BuildProgramFailure                Code = -11
	MapFailure                         Code = -12
	MisalignedSubBufferOffset          Code = -13
	ExecStatusErrorForEventsInWaitList Code = -14
	CompileProgramFailure              Code = -15
	LinkerNotAvailable                 Code = -16
	LinkProgramFailure                 Code = -17
	DevicePartitionFailed              Code = -18
	KernelArgInfoNotAvailable          Code = -19
	InvalidValue                       Code = -30
	InvalidDeviceType                  Code = -31
	InvalidPlatform                    Code = -32
	InvalidDevice                      Code = -33
	InvalidContext                     Code = -34
	InvalidQueueProperties             Code = -35
	InvalidCommandQueue                Code = -36
	InvalidHostPtr                     Code = -37
	InvalidMemObject                   Code = -38
	InvalidImageFormatDescriptor       Code = -39
	InvalidImageSize                   Code = -40
	InvalidSampler                     Code = -41
	InvalidBinary                      Code = -42
	InvalidBuildOptions                Code = -43
	InvalidProgram                     Code = -44
	InvalidProgramExecutable           Code = -45
	InvalidKernelName                  Code = -46
	InvalidKernelDefinition            Code = -47
	InvalidKernel                      Code = -48
	InvalidArgIndex                    Code = -49
	InvalidArgValue                    Code = -50
	InvalidArgSize                     Code = -51
	InvalidKernelArgs                  Code = -52
	InvalidWorkDimension               Code = -53
	InvalidWorkGroupSize               Code = -54
	InvalidWorkItemSize                Code = -55
	InvalidGlobalOffset                Code = -56
	InvalidEventWaitList               Code = -57
	InvalidEvent                       Code = -58
	InvalidOperation                   Code = -59
	InvalidGlObject                    Code = -60
	InvalidBufferSize                  Code = -61
	InvalidMipLevel                    Code = -62
	InvalidGlobalWorkSize              Code = -63
	InvalidProperty                    Code = -64
	InvalidImageDescriptor             Code = -65
	InvalidCompilerOptions             Code = -66
	InvalidLinkerOptions               Code = -67
	InvalidDevicePartitionCount        Code = -68
	InvalidPipeSize                    Code = -69
	InvalidDeviceQueue                 Code = -70
	InvalidSpecID                      Code = -71
	MaxSizeRestrictionExceeded         Code = -72
	PlatformNotFoundKHR                Code = -1001
)

// codeNames are made when an error is told, not whenever a process starts.
var codeNames = sync.OnceValue(func() map[Code]string {
	return map[Code]string{
		-1:    "CL_DEVICE_NOT_FOUND",
		-2:    "CL_DEVICE_NOT_AVAILABLE",
		-3:    "CL_COMPILER_NOT_AVAILABLE",
		-4:    "CL_MEM_OBJECT_ALLOCATION_FAILURE",
		-5:    "CL_OUT_OF_RESOURCES",
		-6:    "CL_OUT_OF_HOST_MEMORY",
		-7:    "CL_PROFILING_INFO_NOT_AVAILABLE",
		-8:    "CL_MEM_COPY_OVERLAP",
		-9:    "CL_IMAGE_FORMAT_MISMATCH",
		-10:   "CL_IMAGE_FORMAT_NOT_SUPPORTED",
		-11:   "CL_BUILD_PROGRAM_FAILURE",
		-12:   "CL_MAP_FAILURE",
		-13:   "CL_MISALIGNED_SUB_BUFFER_OFFSET",
		-14:   "CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST",
		-15:   "CL_COMPILE_PROGRAM_FAILURE",
		-16:   "CL_LINKER_NOT_AVAILABLE",
		-17:   "CL_LINK_PROGRAM_FAILURE",
		-18:   "CL_DEVICE_PARTITION_FAILED",
		-19:   "CL_KERNEL_ARG_INFO_NOT_AVAILABLE",
		-30:   "CL_INVALID_VALUE",
		-31:   "CL_INVALID_DEVICE_TYPE",
		-32:   "CL_INVALID_PLATFORM",
		-33:   "CL_INVALID_DEVICE",
		-34:   "CL_INVALID_CONTEXT",
		-35:   "CL_INVALID_QUEUE_PROPERTIES",
		-36:   "CL_INVALID_COMMAND_QUEUE",
		-37:   "CL_INVALID_HOST_PTR",
		-38:   "CL_INVALID_MEM_OBJECT",
		-39:   "CL_INVALID_IMAGE_FORMAT_DESCRIPTOR",
		-40:   "CL_INVALID_IMAGE_SIZE",
		-41:   "CL_INVALID_SAMPLER",
		-42:   "CL_INVALID_BINARY",
		-43:   "CL_INVALID_BUILD_OPTIONS",
		-44:   "CL_INVALID_PROGRAM",
		-45:   "CL_INVALID_PROGRAM_EXECUTABLE",
		-46:   "CL_INVALID_KERNEL_NAME",
		-47:   "CL_INVALID_KERNEL_DEFINITION",
		-48:   "CL_INVALID_KERNEL",
		-49:   "CL_INVALID_ARG_INDEX",
		-50:   "CL_INVALID_ARG_VALUE",
		-51:   "CL_INVALID_ARG_SIZE",
		-52:   "CL_INVALID_KERNEL_ARGS",
		-53:   "CL_INVALID_WORK_DIMENSION",
		-54:   "CL_INVALID_WORK_GROUP_SIZE",
		-55:   "CL_INVALID_WORK_ITEM_SIZE",
		-56:   "CL_INVALID_GLOBAL_OFFSET",
		-57:   "CL_INVALID_EVENT_WAIT_LIST",
		-58:   "CL_INVALID_EVENT",
		-59:   "CL_INVALID_OPERATION",
		-60:   "CL_INVALID_GL_OBJECT",
		-61:   "CL_INVALID_BUFFER_SIZE",
		-62:   "CL_INVALID_MIP_LEVEL",
		-63:   "CL_INVALID_GLOBAL_WORK_SIZE",
		-64:   "CL_INVALID_PROPERTY",
		-65:   "CL_INVALID_IMAGE_DESCRIPTOR",
		-66:   "CL_INVALID_COMPILER_OPTIONS",
		-67:   "CL_INVALID_LINKER_OPTIONS",
		-68:   "CL_INVALID_DEVICE_PARTITION_COUNT",
		-69:   "CL_INVALID_PIPE_SIZE",
		-70:   "CL_INVALID_DEVICE_QUEUE",
		-71:   "CL_INVALID_SPEC_ID",
		-72:   "CL_MAX_SIZE_RESTRICTION_EXCEEDED",
		-1001: "CL_PLATFORM_NOT_FOUND_KHR",
	}
})

// String returns the name that the specification gives the code.
func (c Code) String() string {
	if name, ok := codeNames()[c]; ok {
		return name
	}
	return "status"
}

func (c Code) Error() string { return fmt.Sprintf("%s (%d)", c.String(), int32(c)) }

// Error is a call that failed. It wraps its Code.
type Error struct {
	Call string // the C function
	Code Code
}

func (e *Error) Error() string { return e.Call + ": " + e.Code.Error() }

func (e *Error) Unwrap() error { return e.Code }
