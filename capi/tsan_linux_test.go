package main

import (
	"path/filepath"
	"testing"

	"github.com/kernstash/kernstash/internal/cbuild"
	"github.com/kernstash/kernstash/internal/needs"
	"github.com/kernstash/kernstash/internal/timing"
)

// TestThreadSanitizer: with the suppressions that are installed, a host with
// ThreadSanitizer is told of no race. Without them it is, or they would be needless. The short
// form is about threads that build the same and others.
func TestThreadSanitizer(t *testing.T) {
	t.Parallel()
	lib := cbuild.Library(t)
	program := lib.Compile(t, parts, "-fsanitize=thread")
	supp := filepath.Join(lib.Root, "capi", "tsan.supp")
	run := func(part, options string) ([]byte, error) {
		h := newHost(t, program)
		cmd := h.command(part, "TSAN_OPTIONS="+options, "TEST_BUILDS=50")
		// Older sanitizers do not start where addresses are more random than they expect.
		cmd.Path, cmd.Args = needs.Tool(t, "setarch", "util-linux"), append([]string{"setarch", "-R"}, cmd.Args...)
		return cmd.CombinedOutput()
	}
	if out, err := run("threads", "exitcode=66"); err == nil {
		t.Errorf("no race is reported without suppressions: they can go\n%s", out)
	}
	all := []string{"threads"}
	if timing.IsLong() {
		all = append(all, "populated", "bettered", "failures", "nests", "cancel", "variants", "many")
	}
	for _, part := range all {
		if out, err := run(part, "exitcode=66:suppressions="+supp); err != nil {
			t.Errorf("%s: %v\n%.4000s", part, err, out)
		}
	}
}
