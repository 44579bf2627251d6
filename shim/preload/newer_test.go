//go:build linux

package preload_test

import (
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kernstash/kernstash/internal/timing"
)

// What newer NVRTCs alone have: LTO IR, OptiX IR, callbacks, precompiled headers. With the
// one of this machine: what it lacks stays missing, and options that it does not know stay
// errors. KERNSTASH_TEST_NVRTC names another one, whose builtins have to be found; see
// test/gpu/newer.
func TestWhatNewerOnesHave(t *testing.T) {
	t.Parallel()
	timing.Long(t)
	library := os.Getenv("KERNSTASH_TEST_NVRTC")
	old := library == ""
	if old {
		library = nvrtc
	}
	env := []string{"LD_LIBRARY_PATH=" + os.Getenv("LD_LIBRARY_PATH")}
	s := newStage(t)
	program := s.program("newer")
	want := s.mustRun(false, env, program, library).out
	if n := strings.Count(want, "missing\n"); old != (n > 20) {
		t.Errorf("%d are missing:\n%s", n, want)
	}
	for _, c := range []struct {
		run      string
		expected map[string]int
	}{
		// LTO IR, the program of the callbacks, which is asked for twice, and the one with a
		// header compile. OptiX IR, and three kinds of precompiled headers, are options that
		// it refuses.
		{"cold", map[string]int{"compiled": 3, "disk": 1, "failed": 4}},
		{"warm", map[string]int{"disk": 4, "failed": 4}},
	} {
		with := env
		if old {
			with = append(slices.Clone(env), "NEWER_ASKED=8")
		}
		got := s.mustRun(true, with, program, library)
		if diff := cmp.Diff(want, got.out); diff != "" {
			t.Errorf("%s (-without +with the cache):\n%s", c.run, diff)
		}
		if diff := cmp.Diff(c.expected, got.report); diff != "" && old {
			t.Errorf("%s (-want +got): %s", c.run, diff)
		}
	}
}

// HIPRTC's functions for linking, which newer ones have, are those of the library, or
// missing.
func TestLinkingPasses(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	program := s.program("link")
	want := s.mustRun(false, nil, program, hiprtc).out
	if got := s.mustRun(true, nil, program, hiprtc).out; got != want {
		t.Errorf("%s, without the cache %s", got, want)
	}
	stub := s.lib.CompileAlone(t, []string{"testdata/linker.c"}, "-shared", "-fPIC")
	want = "hiprtcLinkCreate: 17\nhiprtcLinkAddData: 18\nhiprtcLinkAddFile: 19\nhiprtcLinkComplete: 20\nhiprtcLinkDestroy: 21\n"
	if got := s.mustRun(true, nil, program, stub); got.out != want || len(got.report) != 0 {
		t.Errorf("%s, want %s; %v", got.out, want, got.report)
	}
}
