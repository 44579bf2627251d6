//go:build linux

package levelzero_shim_test

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// Compilers that recover from their own crashes find the signals as they were. IGC 2 does
// nothing about those that somebody handles.
func TestCrashesOfTheCompilerAreItsOwn(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	fake, looks := filepath.Join(built, "fake.so"), "FAKE_DRIVER=looks"
	args := []string{filepath.Join(built, "data"), "wrong,native"}
	without := s.mustRun(t, []string{"LD_PRELOAD=" + fake, looks}, "observe", args...).out
	r := s.mustRun(t, append(s.shimmed(t, fake), looks), "observe", args...)
	if r.out != without || !strings.Contains(r.out, "crash 0: nobody's") || strings.Contains(r.out, "somebody's") {
		t.Errorf("%s\nwithout the shim:\n%s", tail(r.out), tail(without))
	}
}

// What a driver does that the one at hand does not: a fake one before it.
func TestDriverThat(t *testing.T) {
	t.Parallel()
	part := []string{filepath.Join(built, "data"), "native"}
	for _, c := range []struct {
		does string
		warm string // outcome of the first module when it was stored before
		what string // in what is seen each time
	}{
		{"warns", "disk", "log: 0 0 size 21 21 'warning: it is slow\n'\n  again: 0 21 'warning: it is slow"},
		{"refuses", "compiled", "log: 0 0 size 1 1 ''"},
		{"other", "compiled", "log: 0 0 size 1 1 ''"},
		{"short", "passed", "log: 0 0 size 1 1 ''"},
		{"names", "disk", "global none: 78000003 0 0\n  function helper: 78000003 0"},
		{"forgets", "passed", "kernels: 0"},
	} {
		t.Run(c.does, func(t *testing.T) {
			t.Parallel()
			s := newStage(t)
			fake := filepath.Join(built, "fake.so")
			does := "FAKE_DRIVER=" + c.does
			name := "observe"
			if c.does == "forgets" {
				name = "host" // which ends where it has no native code
			}
			args := part
			if name == "host" {
				args = []string{"loop-0", filepath.Join(built, "data")}
			}
			without := s.run(t, []string{"LD_PRELOAD=" + fake, does}, name, args...)
			if !strings.Contains(without.out, c.what) && c.does != "forgets" {
				t.Fatalf("it does not: %s", without.out)
			}
			env := append(s.shimmed(t, fake), does)
			var r result
			for _, round := range []string{"cold", "warm"} {
				r = s.run(t, env, name, args...)
				if r.out != without.out || r.code != without.code {
					t.Errorf("%s: exit %d, not %d\n%s\nwithout the shim:\n%s", round, r.code, without.code, r.out, without.out)
				}
			}
			// The native code that the application hands in itself passes, too.
			asked := func(e event) bool { return e.Outcome == c.warm && e.Reason != "binary" }
			if !slices.ContainsFunc(r.events, asked) {
				t.Errorf("warm: %+v, want %s", r.events, c.warm)
			}
		})
	}
}

// Of a log that ended unseen nothing is said of the next one at its address.
func TestLogsThatEndUnseen(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	env := append(s.shimmed(t, filepath.Join(built, "fake.so")), "FAKE_DRIVER=warns")
	data := filepath.Join(built, "data")
	s.mustRun(t, env, "host", "loop-1", data) // which stores what the driver says
	if r := s.mustRun(t, env, "host", "tables", data); r.out != "at the same address 1, wrong 0\n" {
		t.Error(r.out)
	}
}
