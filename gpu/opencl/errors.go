package opencl

import (
	"errors"
	"fmt"

	"github.com/kernstash/kernstash"
	"github.com/kernstash/kernstash/gpu/opencl/internal/cl"
	"github.com/kernstash/kernstash/internal/handle"
)

// Error is an OpenCL call that failed. It names the C function and wraps its Code.
type Error = cl.Error

// Code is an OpenCL status. It is an error, for errors.Is.
type Code = cl.Code

// ErrMissing is wrapped where the OpenCL loader is older than a call needs.
var ErrMissing = cl.ErrMissing

// ErrReleased is wrapped by every call on an object that was released.
var ErrReleased = handle.ErrReleased

// ErrArgument is wrapped when an argument cannot be what a call needs; no driver was asked.
var ErrArgument = errors.New("bad argument")

// resources adds kernstash.ErrOutOfResources to an error that says so.
func resources(err error) error {
	for _, c := range []Code{OutOfResources, OutOfHostMemory, MemObjectAllocationFailure} {
		if errors.Is(err, c) {
			return fmt.Errorf("%w: %w", kernstash.ErrOutOfResources, err)
		}
	}
	return err
}

// The codes of OpenCL 3.0: InvalidKernelName is CL_INVALID_KERNEL_NAME.
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
