//go:build nogpu

package cuda_test

import (
	"errors"
	"testing"

	"github.com/kernstash/kernstash/gpu/cuda"
	"github.com/kernstash/kernstash/internal/dl"
)

func TestBuildWithoutRuntimesSaysSo(t *testing.T) {
	if _, err := cuda.Devices(); !errors.Is(err, dl.ErrUnsupported) {
		t.Errorf("Devices: %v", err)
	}
	if _, err := cuda.TheDriver(); !errors.Is(err, dl.ErrUnsupported) {
		t.Errorf("TheDriver: %v", err)
	}
	if _, err := cuda.Adopt(1); !errors.Is(err, dl.ErrUnsupported) {
		t.Errorf("Adopt: %v", err)
	}
}
