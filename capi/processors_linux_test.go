package main

import (
	"bytes"
	"math"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/kernstash/kernstash/internal/cbuild"
)

// Threads of the library run where the host's may, whichever of the host's had them made.
func TestThreadsRunWhereTheHostMay(t *testing.T) {
	t.Parallel()
	status, err := os.ReadFile("/proc/thread-self/status")
	if err != nil {
		t.Fatal(err)
	}
	var want []byte
	for line := range bytes.Lines(status) {
		if bytes.HasPrefix(line, []byte("Cpus_allowed_list:")) {
			want = line
		}
	}
	h := newHost(t, cbuild.Library(t).Compile(t, []string{"testdata/processors.c"}))
	for _, by := range []string{"any", "pinned"} {
		if out := h.run(by); out != string(want) {
			t.Errorf("%s: threads: %q, the host: %q", by, out, want)
		}
	}
}

// Go has one processor to begin with, which a thread of the host's keeps while it is away in C,
// and its monitor, which would take it away, rests for two milliseconds when it begins
// (overlay/monitor.go.txt). Nobody waits for that: not a second thread, nor a call that waits in C
// for what it left behind. On a busy machine few processes are as early as that.
func TestNobodyWaitsForTheMonitor(t *testing.T) {
	t.Parallel()
	h := newHost(t, cbuild.Library(t).Compile(t, []string{"testdata/early.c"}))
	for _, what := range []string{"thread", "build", "close"} {
		least := math.Inf(1)
		for range 20 {
			took, err := strconv.ParseFloat(strings.TrimSpace(h.run(what)), 64)
			if err != nil {
				t.Fatal(err)
			}
			least = min(least, took)
		}
		if t.Logf("%s: %.0f µs", what, least); least > 1500 {
			t.Errorf("%s: %.0f µs", what, least)
		}
	}
}
