package configfile

import (
	"os"
	"path/filepath"
	"testing"
	"time"
)

// TestExclude: a change waits for another one, also where that removes the lock's file meanwhile, and no file stays.
func TestExclude(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "made", "config.json")
	first, err := exclude(path)
	if err != nil {
		t.Fatal(err)
	}
	entered := make(chan func())
	for range 2 {
		go func() {
			unlock, err := exclude(path)
			if err != nil {
				t.Error(err)
			}
			entered <- unlock
		}()
	}
	select {
	case <-entered:
		t.Fatal("two have the lock")
	case <-time.After(50 * time.Millisecond):
	}
	first()
	second := <-entered
	select {
	case <-entered:
		t.Fatal("two have the lock after it was free once")
	case <-time.After(50 * time.Millisecond):
	}
	second()
	(<-entered)()
	left, err := os.ReadDir(filepath.Dir(path))
	if err != nil || len(left) > 0 {
		t.Errorf("left: %v, %v", left, err)
	}
}
