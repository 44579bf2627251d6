package levelzero

import (
	"errors"
	"fmt"
	"testing"

	"github.com/kernstash/kernstash"
	"github.com/kernstash/kernstash/internal/dl"
)

// Errors say what a caller can do something about.
func TestErrorsWrap(t *testing.T) {
	t.Parallel()
	call := func(r Result) error { return fmt.Errorf("make module: %w", &Error{Call: "zeModuleCreate", Result: r}) }
	for _, c := range []struct {
		name string
		err  error
		is   error
		want bool
	}{
		{"no loader", unavailable(fmt.Errorf("load: %w", dl.ErrNoLibrary)), ErrUnavailable, true},
		{"no driver", unavailable(call(Uninitialized)), ErrUnavailable, true},
		{"another failure", unavailable(call(DeviceLost)), ErrUnavailable, false},
		{"no memory", resources(call(OutOfDeviceMemory)), kernstash.ErrOutOfResources, true},
		{"no memory is no verdict", diagnose(call(OutOfHostMemory), ""), kernstash.ErrOutOfResources, true},
		{"the result", call(ModuleBuildFailure), ModuleBuildFailure, true},
		{"another result", call(ModuleBuildFailure), ModuleLinkFailure, false},
	} {
		if errors.Is(c.err, c.is) != c.want {
			t.Errorf("%s: %v", c.name, c.err)
		}
	}
	var refused *kernstash.BuildError
	if err := diagnose(call(ModuleBuildFailure), "what is wrong"); !errors.As(err, &refused) || refused.Code != 0x70000004 || refused.Log != "what is wrong" {
		t.Errorf("%#v", refused)
	}
	if s := call(0x1234).Error(); s != "make module: zeModuleCreate: ze_result_t 0x1234" {
		t.Error(s)
	}
}
