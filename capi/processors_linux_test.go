package main

import (
	"bytes"
	"os"
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
