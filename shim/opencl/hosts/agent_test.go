//go:build linux

package hosts_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/kernstash/kernstash/shim/opencl/internal/stage"
)

// TestAgent starts an unchanged application in a place that shares nothing with the first one but
// the agent of the machine: it compiles nothing, and the report says where its programs came from.
func TestAgent(t *testing.T) {
	t.Parallel()
	kernstash := stage.Command(t)
	dir, err := os.MkdirTemp("/tmp", "ks-hosts-") // a socket's path is short
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	socket := filepath.Join(dir, "agent.sock")
	agent := exec.Command(kernstash, "agent", "--socket", socket, "--dir", filepath.Join(dir, "node"))
	var log strings.Builder
	agent.Stderr = &log
	if err := agent.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- agent.Wait() }()
	t.Cleanup(func() {
		_ = agent.Process.Signal(os.Interrupt)
		if err := <-ended; err != nil {
			t.Errorf("the agent: %v\n%s", err, log.String())
		}
	})
	for deadline := time.Now().Add(time.Minute); exec.Command(kernstash, "agent", "status", "--socket", socket).Run() != nil; {
		if time.Now().After(deadline) {
			t.Fatalf("the agent does not serve:\n%s", log.String())
		}
	}

	first, second := stage.New(t, stage.PoCL), stage.New(t, stage.PoCL)
	const from = "disk, from the agent"
	start := func(s *stage.Stage, round, want string) {
		t.Helper()
		got := outcomes(t, s.MustRun(t, append(s.WithLibrary(t), "KERNSTASH_AGENT="+socket), "observe", "run"))
		if len(got) != 1 || got[want] == 0 {
			t.Errorf("%s: outcomes %v, want %q", round, got, want)
		}
	}
	start(first, "cold", "compiled: miss.absent")
	first.MustRun(t, append(first.WithLibrary(t), "KERNSTASH_AGENT="+socket), kernstash, "worker", "run", "--quiet", "--normal-priority", "--idle", "1ms")
	start(first, "warm", "disk")
	start(second, "elsewhere", from)
	start(second, "elsewhere again", from)
	if out, err := exec.Command(kernstash, "agent", "status", "--socket", socket).CombinedOutput(); err != nil || !strings.Contains(string(out), " from the node cache, 0 from farther") {
		t.Errorf("%v\n%s", err, out)
	}
}
