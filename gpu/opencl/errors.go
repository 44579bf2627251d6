package opencl

import (
	"errors"
	"fmt"

	"github.com/kernstash/kernstash"
	"github.com/kernstash/kernstash/gpu/opencl/internal/cl"
	"github.com/kernstash/kernstash/internal/handle"
)

// Error is an OpenCL call that failed. It names the C function and wraps its
// Code.
type Error = cl.Error

// Code is an OpenCL status. It is an error, for errors.Is.
type Code = cl.Code

// ErrMissing is wrapped where the OpenCL loader is older than a call needs.
var ErrMissing = cl.ErrMissing

// ErrReleased is wrapped by every call on an object that was released.
var ErrReleased = handle.ErrReleased

// ErrArgument is wrapped when an argument cannot be what a call needs; no
// driver was asked.
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
	DeviceNotFound                     = cl.DeviceNotFound
	DeviceNotAvailable                 = cl.DeviceNotAvailable
	CompilerNotAvailable               = cl.CompilerNotAvailable
	MemObjectAllocationFailure         = cl.MemObjectAllocationFailure
	OutOfResources                     = cl.OutOfResources
	OutOfHostMemory                    = cl.OutOfHostMemory
	ProfilingInfoNotAvailable          = cl.ProfilingInfoNotAvailable
	MemCopyOverlap                     = cl.MemCopyOverlap
	ImageFormatMismatch                = cl.ImageFormatMismatch
	ImageFormatNotSupported            = cl.ImageFormatNotSupported
	BuildProgramFailure                = cl.BuildProgramFailure
	MapFailure                         = cl.MapFailure
	MisalignedSubBufferOffset          = cl.MisalignedSubBufferOffset
	ExecStatusErrorForEventsInWaitList = cl.ExecStatusErrorForEventsInWaitList
	CompileProgramFailure              = cl.CompileProgramFailure
	LinkerNotAvailable                 = cl.LinkerNotAvailable
	LinkProgramFailure                 = cl.LinkProgramFailure
	DevicePartitionFailed              = cl.DevicePartitionFailed
	KernelArgInfoNotAvailable          = cl.KernelArgInfoNotAvailable
	InvalidValue                       = cl.InvalidValue
	InvalidDeviceType                  = cl.InvalidDeviceType
	InvalidPlatform                    = cl.InvalidPlatform
	InvalidDevice                      = cl.InvalidDevice
	InvalidContext                     = cl.InvalidContext
	InvalidQueueProperties             = cl.InvalidQueueProperties
	InvalidCommandQueue                = cl.InvalidCommandQueue
	InvalidHostPtr                     = cl.InvalidHostPtr
	InvalidMemObject                   = cl.InvalidMemObject
	InvalidImageFormatDescriptor       = cl.InvalidImageFormatDescriptor
	InvalidImageSize                   = cl.InvalidImageSize
	InvalidSampler                     = cl.InvalidSampler
	InvalidBinary                      = cl.InvalidBinary
	InvalidBuildOptions                = cl.InvalidBuildOptions
	InvalidProgram                     = cl.InvalidProgram
	InvalidProgramExecutable           = cl.InvalidProgramExecutable
	InvalidKernelName                  = cl.InvalidKernelName
	InvalidKernelDefinition            = cl.InvalidKernelDefinition
	InvalidKernel                      = cl.InvalidKernel
	InvalidArgIndex                    = cl.InvalidArgIndex
	InvalidArgValue                    = cl.InvalidArgValue
	InvalidArgSize                     = cl.InvalidArgSize
	InvalidKernelArgs                  = cl.InvalidKernelArgs
	InvalidWorkDimension               = cl.InvalidWorkDimension
	InvalidWorkGroupSize               = cl.InvalidWorkGroupSize
	InvalidWorkItemSize                = cl.InvalidWorkItemSize
	InvalidGlobalOffset                = cl.InvalidGlobalOffset
	InvalidEventWaitList               = cl.InvalidEventWaitList
	InvalidEvent                       = cl.InvalidEvent
	InvalidOperation                   = cl.InvalidOperation
	InvalidGlObject                    = cl.InvalidGlObject
	InvalidBufferSize                  = cl.InvalidBufferSize
	InvalidMipLevel                    = cl.InvalidMipLevel
	InvalidGlobalWorkSize              = cl.InvalidGlobalWorkSize
	InvalidProperty                    = cl.InvalidProperty
	InvalidImageDescriptor             = cl.InvalidImageDescriptor
	InvalidCompilerOptions             = cl.InvalidCompilerOptions
	InvalidLinkerOptions               = cl.InvalidLinkerOptions
	InvalidDevicePartitionCount        = cl.InvalidDevicePartitionCount
	InvalidPipeSize                    = cl.InvalidPipeSize
	InvalidDeviceQueue                 = cl.InvalidDeviceQueue
	InvalidSpecID                      = cl.InvalidSpecID
	MaxSizeRestrictionExceeded         = cl.MaxSizeRestrictionExceeded
	PlatformNotFoundKHR                = cl.PlatformNotFoundKHR
)
