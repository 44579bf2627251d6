//go:build !linux && !darwin && !windows

package disk

import (
	"context"
	"errors"
	"testing"

	"github.com/kernstash/kernstash/internal/safefs"
	"github.com/kernstash/kernstash/store/storetest"
)

// TestUnsupportedSystemIsOff: everything is a miss, with the reason.
func TestUnsupportedSystemIsOff(t *testing.T) {
	t.Parallel()
	s := New(Options{Dir: t.TempDir()})
	defer s.Close()
	_, err := s.Put(context.Background(), storetest.New(t, "e", 1))
	if !errors.Is(err, ErrOff) || !errors.Is(err, safefs.ErrUnsupported) || s.Status().On {
		t.Errorf("put: %v, status %+v", err, s.Status())
	}
}
