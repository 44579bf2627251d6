//go:build linux

package preload_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kernstash/kernstash/internal/timing"
)

// HIPRTC's compiler finds header files by variables that name no option: what is in them
// counts, whatever was compiled before.
func TestHeaderFilesByVariable(t *testing.T) {
	timing.Long(t)
	t.Parallel()
	s := newStage(t)
	compile := s.program("compile")
	s.write("x.hip", "#include <found.h>\nextern \"C\" __global__ void k(int *p) { *p = N; }\n")
	args := []string{"hiprtc", hiprtc, "x.hip", "--offload-arch=gfx90a"}
	for name, dir := range map[string]string{
		"CPATH": "cpath", "CPLUS_INCLUDE_PATH": "cplus", "ROCM_PATH": "rocm/include", "HIP_PATH": "hip/include",
	} {
		value := s.work + "/" + dir
		if name == "ROCM_PATH" || name == "HIP_PATH" {
			value = value[:len(value)-len("/include")]
		}
		env := []string{name + "=" + value}
		for _, n := range []string{"1", "2222"} {
			s.write(dir+"/found.h", "#define N "+n+"\n")
			want := s.mustRun(false, env, compile, args...)
			if got := s.mustRun(true, env, compile, args...); got.out != want.out {
				t.Errorf("%s, %s:\n%s\nwithout the cache:\n%s", name, n, got.out, want.out)
			}
		}
	}
}

// Variables that show in what is made.
func TestVariablesInTheCode(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	compile := s.program("compile")
	s.write("x.hip", "extern \"C\" __global__ void k(int *p) { *p = 1; }\n")
	args := []string{"hiprtc", hiprtc, "x.hip", "--offload-arch=gfx90a"}
	for _, env := range [][]string{nil, {"LLD_VERSION=one"}, {"LLD_VERSION=other"}, {"LLVM_OVERRIDE_PRODUCER=another"}} {
		want := s.mustRun(false, env, compile, args...)
		if got := s.mustRun(true, env, compile, args...); got.out != want.out {
			t.Errorf("%q:\n%s\nwithout the cache:\n%s", env, got.out, want.out)
		}
	}
}

// HIPRTC includes a header of its own in front of each program, and files may be taken for
// it.
func TestHIPsOwnHeader(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	compile := s.program("compile")
	s.write("x.hip", "#ifndef N\n#define N 1\n#endif\nextern \"C\" __attribute__((global)) void k(int *p) { *p = N; }\n")
	args := []string{"hiprtc", hiprtc, "x.hip", "--offload-arch=gfx90a", "-iquote", "quoted"}
	for _, text := range []string{"#define N 2\n", "#define N 3\n"} {
		s.write("quoted/hiprtc_runtime.h", text)
		want := s.mustRun(false, nil, compile, args...)
		if got := s.mustRun(true, nil, compile, args...); got.out != want.out {
			t.Errorf("%q:\n%s\nwithout the cache:\n%s", text, got.out, want.out)
		}
	}
}

// A program without a log is found by applications that ask for the log without looking at
// its size, which is 0: HIPRTC's.
func TestEmptyLog(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	compile := s.program("compile")
	s.write("x.hip", "extern \"C\" __attribute__((global)) void k(int *p) { *p = 1; }\n")
	args := []string{"hiprtc", hiprtc, "x.hip", "--offload-arch=gfx90a"}
	want := s.mustRun(false, nil, compile, args...)
	if !strings.Contains(want.out, "GetProgramLog: 0, 0 bytes\n") {
		t.Fatalf("the test needs a program without a log:\n%s", want.out)
	}
	for _, outcome := range []string{"compiled", "disk"} {
		got := s.mustRun(true, nil, compile, args...)
		if diff := cmp.Diff(want.out, got.out); diff != "" {
			t.Errorf("%s (-without the cache +with it): %s", outcome, diff)
		}
		if diff := cmp.Diff(one(outcome, 1), got.report); diff != "" {
			t.Errorf("%s (-want +got): %s", outcome, diff)
		}
	}
}

// What the compiler refuses is told of, though the process ends at once.
func TestRefusedAtTheEnd(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	compile := s.program("compile")
	s.write("x.hip", "no program\n")
	for range 6 {
		got := s.mustRun(true, []string{"COMPILE_ONLY=1"}, compile, "hiprtc", hiprtc, "x.hip", "--offload-arch=gfx90a")
		if diff := cmp.Diff(one("failed", 1), got.report); diff != "" {
			t.Errorf("(-want +got): %s", diff)
		}
	}
}
