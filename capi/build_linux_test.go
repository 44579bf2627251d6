package main

import (
	"strings"
	"sync"
	"testing"

	"github.com/kernstash/kernstash/internal/cbuild"
)

// Eight threads at once: one builds.
func TestGetOrBuildThreads(t *testing.T) {
	hosts(t, func(_ *testing.T, h *host) { h.run("threads") })
}

// Eight processes at once: one builds.
func TestGetOrBuildProcesses(t *testing.T) {
	hosts(t, func(t *testing.T, h *host) {
		const processes = 8
		var all sync.WaitGroup
		var out [processes]string
		for i := range processes {
			all.Go(func() {
				b, err := h.command("process").CombinedOutput()
				if err != nil {
					t.Errorf("%v\n%s", err, b)
				}
				out[i] = string(b)
			})
		}
		all.Wait()
		if n := strings.Count(strings.Join(out[:], ""), "builds 1"); n != 1 {
			t.Errorf("%d processes built, want 1: %q", n, out)
		}
	})
}

// The callback runs on its caller's thread, may ask for other programs, and is told
// of a cycle.
func TestGetOrBuildNests(t *testing.T) {
	hosts(t, func(_ *testing.T, h *host) { h.run("nests") })
}

// The compiler's verdict is one for all who ask; any other failure is tried again.
func TestGetOrBuildFailures(t *testing.T) {
	hosts(t, func(_ *testing.T, h *host) { h.run("failures") })
}

// Where the cache is of no use it builds.
func TestGetOrBuildAlone(t *testing.T) {
	hosts(t, func(_ *testing.T, h *host) { h.run("alone") })
}

// A thread that is cancelled in its build lets the others build.
func TestGetOrBuildCancelled(t *testing.T) {
	hosts(t, func(t *testing.T, h *host) {
		if strings.HasSuffix(t.Name(), "address") {
			t.Log("the sanitizer knows nothing of stacks that are unwound by force: plain only")
			return
		}
		h.run("cancel")
	})
}

// An exception passes through, and others are not made to wait for it.
func TestGetOrBuildException(t *testing.T) {
	t.Parallel()
	newHost(t, cbuild.Library(t).Compile(t, []string{"testdata/exception.cpp"})).run("exception")
}

func TestGetOrBuildLeavesNothingBehind(t *testing.T) {
	t.Parallel()
	h := newHost(t, cbuild.Library(t).Compile(t, parts))
	t.Log(h.run("leaks"))
}
