package handle_test

import (
	"errors"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/kernstash/kernstash/internal/handle"
)

var errDriver = errors.New("the driver says no")

func TestHandle(t *testing.T) {
	t.Parallel()
	var h handle.Handle
	if _, err := h.Get(); !errors.Is(err, handle.ErrReleased) || err.Error() != "object: released" {
		t.Errorf("of nothing: %v", err)
	}
	h.Set("buffer", 7)
	if got, err := h.Get(); got != 7 || err != nil || h.Load() != 7 {
		t.Errorf("%d, %v", got, err)
	}
	var freed atomic.Int64
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			if err := h.Release(func(own uintptr) error { freed.Add(int64(own)); return nil }); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	if freed.Load() != 7 {
		t.Errorf("freed %d", freed.Load())
	}
	if _, err := h.Get(); !errors.Is(err, handle.ErrReleased) || err.Error() != "buffer: released" || h.Load() != 0 {
		t.Errorf("after its release: %v", err)
	}
	h.Set("buffer", 8)
	if err := h.Release(func(uintptr) error { return errDriver }); !errors.Is(err, errDriver) || err.Error() != "release buffer: the driver says no" {
		t.Errorf("%v", err)
	}
}
