package kernstash

import (
	"context"
	"sync/atomic"
	"testing"
)

// TestDiagnosticBesidePanic: a program that one device's compiler refuses and
// another's panics on has not failed for good, so nothing of the attempt stays
// behind to be evicted under the next one.
func TestDiagnosticBesidePanic(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	other := f.devices[0]
	other.Name = "other"
	f.devices = append(f.devices, other)
	var again atomic.Bool
	f.build = func(_ context.Context, job Job) error {
		switch {
		case again.Load():
			return nil
		case job.Devices[0] == 0:
			return &BuildError{Code: 1}
		}
		panic("driver")
	}
	x := fakeContextOn(openCache(t, newRoot(t)), f)
	m := image(t, src(1))
	if _, err := x.Program(t.Context(), Request{Image: m}); err == nil {
		t.Fatal("no error")
	}
	if n := len(x.cached); n != 0 {
		t.Errorf("%d programs are cached after an attempt that is forgotten", n)
	}
	again.Store(true)
	p, err := x.Program(t.Context(), Request{Image: m})
	if err != nil {
		t.Fatal(err)
	}
	p.Release()
	x.Close()
	if _, _, live, _ := f.counts(); live != 0 {
		t.Errorf("%d live programs after Close", live)
	}
}
