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

// Threads of the library run where the host's may.
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
	if out := h.run(""); out != string(want) {
		t.Errorf("threads: %q, the host: %q", out, want)
	}
}

// A thread that comes right after the first one, which still has Go's only processor, gets
// it at once: Go's monitor, which rests for two milliseconds when it begins
// (overlay/monitor.go.txt), is woken. On a busy machine few are as early as that.
func TestSecondThreadDoesNotWaitForTheMonitor(t *testing.T) {
	t.Parallel()
	h := newHost(t, cbuild.Library(t).Compile(t, []string{"testdata/second.c"}))
	least := math.Inf(1)
	for range 20 {
		took, err := strconv.ParseFloat(strings.TrimSpace(h.run("")), 64)
		if err != nil {
			t.Fatal(err)
		}
		least = min(least, took)
	}
	if least > 1000 {
		t.Errorf("its first call took %.0f µs", least)
	}
}
