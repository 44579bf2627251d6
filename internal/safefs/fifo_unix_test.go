//go:build linux || darwin

package safefs

import (
	"path/filepath"
	"syscall"
	"testing"
	"time"
)

// TestFIFODoesNotBlock: whatever lies there, opening does not wait.
func TestFIFODoesNotBlock(t *testing.T) {
	t.Parallel()
	for name, o := range ways {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d, path := openRoot(t, o)
			must(t, syscall.Mkfifo(filepath.Join(path, "fifo"), 0o600))
			done := make(chan struct{})
			go func() {
				defer close(done)
				f, info, err := d.Open("fifo")
				if err != nil || info.Kind != Other {
					t.Errorf("kind %d, error %v", info.Kind, err)
					return
				}
				f.Close()
			}()
			select {
			case <-done:
			case <-time.After(3 * time.Minute):
				t.Fatal("open waits for a writer")
			}
		})
	}
}
