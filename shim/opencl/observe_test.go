//go:build linux

package opencl_layer_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// All that an application can see of programs and kernels is the same without
// the layer (twice: the control), with a cold cache, and with a warm one.
func TestObservedTheSame(t *testing.T) {
	t.Parallel()
	for _, d := range drivers {
		t.Run(d.name, func(t *testing.T) {
			t.Parallel()
			s := newStage(t, d)
			without := normal(s.mustRun(t, nil, "observe").out)
			if diff := cmp.Diff(without, normal(s.mustRun(t, nil, "observe").out)); diff != "" {
				t.Fatalf("the control differs:\n%s", diff)
			}
			cold := s.mustRun(t, s.layered(), "observe")
			if diff := cmp.Diff(without, normal(cold.out)); diff != "" {
				t.Errorf("cold:\n%s", diff)
			}
			warm := s.mustRun(t, s.layered(), "observe")
			if diff := cmp.Diff(without, normal(warm.out)); diff != "" {
				t.Errorf("warm:\n%s", diff)
			}
			if n := count(cold.log, "built"); n < 5 {
				t.Errorf("cold: %d programs built:\n%s", n, cold.log)
			}
			if built, restored := count(warm.log, "built"), count(warm.log, "restored"); built != 0 || restored < 10 {
				t.Errorf("warm: %d built, %d restored:\n%s", built, restored, warm.log)
			}
			if n := count(warm.log, "refused"); n != 0 {
				t.Errorf("warm: %d refused", n)
			}
		})
	}
}
