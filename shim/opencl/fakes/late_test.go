//go:build linux

package fakes_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kernstash/kernstash/shim/opencl/internal/stage"
)

// What was found, and is compiled after all, is compiled of what it was when the application
// called for it; a call changes what it would change without the layer.
func TestCompiledAfterAll(t *testing.T) {
	t.Parallel()
	const (
		deferred = "FAKE_KIND=2" // of a compiled unit the object is not kept
		unlinked = "FAKE=unlinked"
		gone     = "FAKE=gone"
		two      = "FAKE_DEVICES=2"
	)
	for _, c := range []struct {
		name string
		env  []string
		warm string // what it says when it runs again
	}{
		{
			"constant",
			[]string{unlinked, deferred},
			"compile 0; compilation for 1 of 1, constant 1, default arithmetic; link 0",
		},
		// Whatever of it is gone is not built anew of another constant.
		{"constant-of-build", []string{gone, "FAKE_KIND=1"}, "build 0; binaries -6"},
		{"no-constant", []string{unlinked, deferred}, "compile 0; compilation for 1 of 1, constant 0, default arithmetic; set; link 0"},
		{"no-constant", []string{unlinked}, "compile 0; set; link 0"},
		{
			"arithmetic",
			[]string{gone, "FAKE_KIND=1"},
			"compile 0; build 0; link 0; build for 1 of 1, constant 0, default arithmetic; binaries 0; rounding kept",
		},
		{
			"arithmetic",
			[]string{unlinked, deferred},
			"compile 0; build for 1 of 1, constant 0, default arithmetic; build 0; " +
				"compilation for 1 of 1, constant 0, default arithmetic; link 0; binaries 0; rounding kept",
		},
		{
			"compile-a-part",
			[]string{two},
			"build 0; build for 2 of 2, constant 0, default arithmetic; compilation for 1 of 2, constant 0, default arithmetic; " +
				"compile 0; status 0; status 0",
		},
		{
			"build-a-part",
			[]string{two},
			"build 0; build for 2 of 2, constant 0, default arithmetic; build for 1 of 2, constant 0, another arithmetic; " +
				"build 0; status 0; status 0",
		},
		// A unit that may read files is compiled at once where it can be compiled again for one.
		{
			"compile-again",
			[]string{two},
			"compilation for 2 of 2, constant 0, default arithmetic; compile 0; a header changes; " +
				"compilation for 1 of 2, constant 0, default arithmetic; compile 0; status 0",
		},
		{
			"compile-again",
			[]string{two, deferred},
			"compile 0; a header changes; compilation for 2 of 2, constant 0, default arithmetic; " +
				"compilation for 1 of 2, constant 0, default arithmetic; compile 0; status 0",
		},
		{"nonsense", nil, "build 0; compile -30; compile -30; compile -30; status 0; kernel 0"},
	} {
		t.Run(strings.Join(append([]string{c.name}, c.env...), " "), func(t *testing.T) {
			t.Parallel()
			s := stage.New(t, stage.Fake)
			env := append([]string{"FAKE_COMPILES=1"}, c.env...)
			s.MustRun(t, env, "late", c.name)
			r := s.MustRun(t, env, "late", c.name)
			got := strings.ReplaceAll(strings.TrimSpace(r.Out), "\n", "; ")
			if diff := cmp.Diff(strings.ReplaceAll(c.warm, "; ", ";\n"), strings.ReplaceAll(got, "; ", ";\n")); diff != "" {
				t.Errorf("(-want +got):\n%s\n%s", diff, r.Log)
			}
		})
	}
}

// Constants are set while another thread builds the program. The long form looks for errors
// of memory and of threads.
func TestConstantsWhileBuilding(t *testing.T) {
	t.Parallel()
	for _, sanitizer := range stage.Sanitizers() {
		t.Run(sanitizer, func(t *testing.T) {
			t.Parallel()
			s := stage.New(t, stage.Fake)
			s.MustRun(t, []string{"FAKE=pass"}, sanitizer+"/late", "constants")
		})
	}
}
