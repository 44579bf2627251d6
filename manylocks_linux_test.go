package kernstash

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/kernstash/kernstash/key"
	"github.com/kernstash/kernstash/stats"
)

// TestThousandsWaitToBeStored: they take one descriptor together, and Close drops them
// at its deadline without a lock that stays.
func TestThousandsWaitToBeStored(t *testing.T) {
	t.Parallel()
	const programs = 3000
	f := newFake(t)
	root := newRoot(t)
	c := openCache(t, root, func(o *Options) { o.CloseTimeout = time.Nanosecond })
	x := fakeContextOn(c, f)
	c.storer.mu.Lock()
	c.storer.running = true // it writes nothing
	c.storer.mu.Unlock()
	var first key.Key
	for i := range programs {
		p, err := x.Program(t.Context(), Request{Image: image(t, src(i))})
		if err != nil {
			t.Fatal(err)
		}
		if i == 0 {
			first = p.Key(0)
		}
		p.Release()
	}
	if n := descriptorsOf(t, filepath.Join(root, ".meta", "locks")); n != 1 {
		t.Errorf("%d descriptors of the lock file, want 1", n)
	}
	var dropped *DroppedError
	if err := c.Close(); !errors.As(err, &dropped) || dropped.Stores != programs {
		t.Errorf("Close: %v, want %d dropped", err, programs)
	}
	if n := c.Stats()[stats.DiskPutsDropped]; n != programs {
		t.Errorf("%d counted as dropped, want %d", n, programs)
	}
	if n := descriptorsOf(t, filepath.Join(root, ".meta", "locks")); n != 0 {
		t.Errorf("%d descriptors of the lock file after Close", n)
	}
	again := openCache(t, root)
	unlock, err := again.written.Lock(t.Context(), first, 0)
	if err != nil {
		t.Fatalf("a lock stayed: %v", err)
	}
	unlock()
}

// descriptorsOf counts this process's descriptors of a file.
func descriptorsOf(t *testing.T, path string) (n int) {
	t.Helper()
	list, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range list {
		if to, err := os.Readlink("/proc/self/fd/" + e.Name()); err == nil && to == path {
			n++
		}
	}
	return n
}
