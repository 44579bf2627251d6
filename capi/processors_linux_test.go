package main

import (
	"bytes"
	"os"
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
