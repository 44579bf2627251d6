package levelzero

import (
	"errors"
	"fmt"

	"github.com/kernstash/kernstash"
	"github.com/kernstash/kernstash/gpu/levelzero/internal/ze"
	"github.com/kernstash/kernstash/internal/dl"
	"github.com/kernstash/kernstash/internal/handle"
)

// Error is a Level Zero call that failed. It names the C function and wraps its
// Result.
type Error = ze.Error

// Result is a ze_result_t. It is an error, for errors.Is.
type Result = ze.Result

// ErrUnavailable is wrapped where there is no Level Zero loader, or where it has no
// driver.
var ErrUnavailable = errors.New("no Level Zero here")

// ErrMissing is wrapped where the loader is older than a call needs.
var ErrMissing = ze.ErrMissing

// ErrReleased is wrapped by every call on an object that was released.
var ErrReleased = handle.ErrReleased

// ErrArgument is wrapped when an argument cannot be what a call needs; no driver was
// asked.
var ErrArgument = errors.New("bad argument")

// unavailable adds ErrUnavailable to an error that says so.
func unavailable(err error) error {
	if errors.Is(err, dl.ErrNoLibrary) || errors.Is(err, Uninitialized) || errors.Is(err, dl.ErrUnsupported) {
		return fmt.Errorf("%w: %w", ErrUnavailable, err)
	}
	return err
}

// resources adds kernstash.ErrOutOfResources to an error that says so.
func resources(err error) error {
	if errors.Is(err, OutOfHostMemory) || errors.Is(err, OutOfDeviceMemory) {
		return fmt.Errorf("%w: %w", kernstash.ErrOutOfResources, err)
	}
	return err
}

// The results that say something: InvalidKernelName is
// ZE_RESULT_ERROR_INVALID_KERNEL_NAME.
const (
	NotReady                   = ze.NotReady
	DeviceLost                 = ze.DeviceLost
	OutOfHostMemory            = ze.OutOfHostMemory
	OutOfDeviceMemory          = ze.OutOfDeviceMemory
	ModuleBuildFailure         = ze.ModuleBuildFailure
	ModuleLinkFailure          = ze.ModuleLinkFailure
	Uninitialized              = ze.Uninitialized
	UnsupportedFeature         = ze.UnsupportedFeature
	InvalidArgument            = ze.InvalidArgument
	InvalidNullHandle          = ze.InvalidNullHandle
	InvalidNullPointer         = ze.InvalidNullPointer
	InvalidSize                = ze.InvalidSize
	InvalidNativeBinary        = ze.InvalidNativeBinary
	InvalidGlobalName          = ze.InvalidGlobalName
	InvalidKernelName          = ze.InvalidKernelName
	InvalidFunctionName        = ze.InvalidFunctionName
	InvalidGroupSizeDimension  = ze.InvalidGroupSizeDimension
	InvalidKernelArgumentIndex = ze.InvalidKernelArgumentIndex
	InvalidKernelArgumentSize  = ze.InvalidKernelArgumentSize
	InvalidModuleUnlinked      = ze.InvalidModuleUnlinked
)
