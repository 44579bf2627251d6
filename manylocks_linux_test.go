package kernstash

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/kernstash/kernstash/internal/cache"
	"github.com/kernstash/kernstash/key"
	"github.com/kernstash/kernstash/stats"
	"github.com/kernstash/kernstash/store"
	"github.com/kernstash/kernstash/store/disk"
)

// TestThousandsWaitToBeStored: they take one descriptor together, and Close drops them
// at its deadline without a lock that stays.
func TestThousandsWaitToBeStored(t *testing.T) {
	t.Parallel()
	const programs = 3000
	f := newFake(t)
	root := newRoot(t)
	stuck := &stuckStore{end: make(chan struct{})}
	c, err := openOn(func(o disk.Options) cache.Disk {
		stuck.Disk = disk.New(o)
		return stuck
	}, Options{Dir: root, ConfigFile: emptyConfig(t), CloseTimeout: time.Nanosecond})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	x := fakeContextOn(c, f)
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
	if n := c.Stats()[stats.DiskPutsDropped]; n != programs-1 { // one is being written
		t.Errorf("%d counted as dropped, want %d", n, programs-1)
	}
	close(stuck.end)
	waitFor(t, "the last lock", func() bool { return descriptorsOf(t, filepath.Join(root, ".meta", "locks")) == 0 })
	again := openCache(t, root)
	unlock, err := again.cache().Store().Lock(t.Context(), first, 0)
	if err != nil {
		t.Fatalf("a lock stayed: %v", err)
	}
	unlock()
}

// stuckStore stores nothing until its end.
type stuckStore struct {
	cache.Disk
	end chan struct{}
}

func (s *stuckStore) Put(context.Context, *store.Entry) (store.PutResult, error) {
	<-s.end
	return store.Failed, store.ErrDropped
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
