package launch

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/kernstash/kernstash/internal/runlog"
)

// A run does not wait for what is in the place of a worker's files.
func TestExplainWaitsForNothing(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	dir := filepath.Join(root, ".meta/spool/e")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{filepath.Join(root, ".meta/worker"), filepath.Join(dir, strings.Repeat("1", 32)+".capture.refused")} {
		if err := syscall.Mkfifo(path, 0o600); err != nil {
			t.Fatal(err)
		}
		if p, _, err := inspect(path); err == nil {
			t.Errorf("%s was read: %+v", path, p)
		}
	}
	done := make(chan struct{})
	go func() {
		explain(&runlog.Summary{}, root, time.Now())
		close(done)
	}()
	select {
	case <-done:
	case <-time.After(3 * time.Minute):
		t.Fatal("it waits")
	}
}
