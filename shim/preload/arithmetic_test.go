//go:build linux && amd64

package preload_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// Compilers fold constants in the mode of the thread that calls them: in another mode than
// a thread's first, a program is neither stored nor served.
func TestArithmetic(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	compile := s.program("compile")
	s.write("x.cu", "extern \"C\" __global__ void k(double *p) { p[0] = 1.0 / 3.0; p[1] = 4e-320 * 0.5; }\n")
	args := []string{"nvrtc", nvrtc, "x.cu", "-arch=compute_80"}
	said := make(map[string]string)
	differ := 0
	for _, c := range []struct{ name, mxcsr, want string }{
		{"upward, cold", "5f80", "passed"},
		{"cold", "1f80", "compiled"},
		{"warm, something inexact was computed", "1fa0", "disk"},
		{"upward, warm", "5f80", "passed"},
		{"denormals are flushed", "9f80", "passed"},
		{"denormals are zero", "1fc0", "passed"},
	} {
		env := []string{"COMPILE_MXCSR=" + c.mxcsr}
		o := s.mustRun(true, env, compile, args...)
		if diff := cmp.Diff(one(c.want, 1), o.report); diff != "" {
			t.Errorf("%s (-want +got): %s", c.name, diff)
		}
		if without := s.mustRun(false, env, compile, args...); o.out != without.out {
			t.Errorf("%s: not what the compiler says:\n%s\n%s", c.name, o.out, without.out)
		}
		if said["1f80"] != "" && o.out != said["1f80"] {
			differ++
		}
		said[c.mxcsr] = o.out
	}
	if differ == 0 {
		t.Logf("this NVRTC folds constants alike in all modes: %s", strings.TrimSpace(said["1f80"]))
	}
}

// What is compiled after all, for an answer that is not stored, is compiled in the mode in
// which it was asked for.
func TestArithmeticOfLateCompilations(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	compile := s.program("compile")
	s.write("x.cu", "extern \"C\" __global__ void k(double *p) { p[0] = 1.0 / 3.0; p[1] = 4e-320 * 0.5; }\n")
	args := []string{"nvrtc", nvrtc, "x.cu", "-arch=compute_80"}
	want := s.mustRun(false, []string{"COMPILE_ASK_MXCSR=1fc0"}, compile, args...).out
	s.mustRun(true, nil, compile, args...)
	o := s.mustRun(true, []string{"COMPILE_ASK_MXCSR=1fc0"}, compile, args...)
	if diff := cmp.Diff(want, o.out); diff != "" {
		t.Errorf("(-without the shim +with it):\n%s", diff)
	}
	if !strings.Contains(o.out, "mode: kept") {
		t.Errorf("the mode is changed: %s", o.out)
	}
}
