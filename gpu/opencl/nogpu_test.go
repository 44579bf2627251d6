//go:build nogpu

package opencl_test

import (
	"errors"
	"testing"

	"github.com/kernstash/kernstash/gpu/opencl"
	"github.com/kernstash/kernstash/internal/dl"
)

func TestBuildWithoutRuntimesSaysSo(t *testing.T) {
	if _, err := opencl.Platforms(); !errors.Is(err, dl.ErrUnsupported) {
		t.Errorf("Platforms: %v", err)
	}
	if _, err := opencl.Devices(opencl.AnyType); !errors.Is(err, dl.ErrUnsupported) {
		t.Errorf("Devices: %v", err)
	}
	if _, err := opencl.Adopt(1); !errors.Is(err, dl.ErrUnsupported) {
		t.Errorf("Adopt: %v", err)
	}
}
