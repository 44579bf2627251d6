//go:build nogpu

package levelzero_test

import (
	"errors"
	"testing"

	"github.com/kernstash/kernstash/gpu/levelzero"
	"github.com/kernstash/kernstash/internal/dl"
)

func TestBuildWithoutRuntimesSaysSo(t *testing.T) {
	_, err := levelzero.Devices()
	if !errors.Is(err, dl.ErrUnsupported) || !errors.Is(err, levelzero.ErrUnavailable) {
		t.Errorf("Devices: %v", err)
	}
}
