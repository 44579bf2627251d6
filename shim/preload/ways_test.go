//go:build linux

package preload_test

import "testing"

var library = []string{"../library/library.c", "../library/ask.c"}

// A compiler finds the signals as they were, whichever front end has opened the library, and
// however many.
func TestTwoFrontEndsAndCrashes(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	got := s.mustRun(false, []string{"KERNSTASH_LIBRARY=" + s.lib.Library}, s.program("ways", library...), "one-by-one")
	want := "nobody's, nobody's\nopen\nnobody's, somebody's\nopen\nnobody's, somebody's\n"
	if got.out != want {
		t.Errorf("%s, want\n%s", got.out, want)
	}
}

// A child that is made while a thread opens the library goes through another front end without
// waiting for it.
func TestForkWhileOpening(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	slow := s.lib.CompileAlone(t, []string{"testdata/slow_library.c"}, "-shared", "-fPIC")
	got := s.mustRun(false, []string{"KERNSTASH_LIBRARY=" + slow}, s.program("ways", library...), "fork")
	if want := "it stays out\nstatus 0\n"; got.out != want {
		t.Errorf("%s, want\n%s", got.out, want)
	}
}
