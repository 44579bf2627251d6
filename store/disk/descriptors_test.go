//go:build linux

package disk

import (
	"fmt"
	"os"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/kernstash/kernstash/internal/safefs"
	"github.com/kernstash/kernstash/key"
	"github.com/kernstash/kernstash/store"
	"github.com/kernstash/kernstash/store/storetest"
)

// descriptors counts this process's descriptors below a directory.
func descriptors(t *testing.T, dir string) (n int) {
	t.Helper()
	list, err := os.ReadDir("/proc/self/fd")
	must(t, err)
	for _, e := range list {
		if to, err := os.Readlink("/proc/self/fd/" + e.Name()); err == nil && strings.HasPrefix(to, dir) {
			n++
		}
	}
	return n
}

// TestNoDescriptorLeaks: whatever was done, a store keeps a few descriptors,
// and a closed one none.
func TestNoDescriptorLeaks(t *testing.T) {
	t.Parallel()
	for name, ways := range map[string]safefs.Options{"fast": {}, "slow": {NoOpenat2: true, NoTmpfile: true}} {
		s := open(t, func(o *Options) { o.MaxSize, o.hooks.Beneath = 30*each, ways })
		for i := range 30 {
			e := storetest.New(t, fmt.Sprint(i), 500)
			if _, err := s.Put(bg, e); err != nil && i < 10 {
				t.Fatal(err)
			}
			_, _ = s.Put(bg, e)
			_, _ = s.Get(bg, e.Key)
			_, _ = s.Get(bg, storetest.New(t, "absent", i+1).Key)
			_, _ = s.Recipe(bg, e.Key)
			_, _ = s.Nearest(bg, e.Recipe, key.Digest{})
			if i%5 == 0 && exists(binPath(s, e.Key)) {
				must(t, os.Truncate(binPath(s, e.Key), int64(100*i)))
				_, _ = s.Get(bg, e.Key)
				_, _ = s.Put(bg, e)
			}
			if unlock, err := s.Lock(bg, e.Key, time.Second); err == nil {
				_, _ = s.Lock(bg, e.Key, 0)
				unlock()
			}
			if i%7 == 0 {
				must(t, s.Delete(bg, e.Key))
			}
		}
		settled(s)
		must(t, s.AddStats(oneHit()))
		mustList(t, s)
		_, err := s.Verify(bg, true, nil)
		must(t, err)
		_, err = s.GC(bg, GCOptions{MaxSize: 5 * each}, nil)
		must(t, err)
		_, err = s.Clear(bg, func(store.Info) bool { return true }, nil)
		must(t, err)
		// The root, .meta, tmp, account, statistics, and a few lock files.
		if n := descriptors(t, s.o.Dir); n > 8 {
			t.Errorf("%s: %d descriptors of an idle store", name, n)
		}
		must(t, s.Close())
		if n := descriptors(t, s.o.Dir); n != 0 {
			t.Errorf("%s: %d descriptors of a closed store", name, n)
		}
	}
}

// TestPanicLeaksNoDescriptor: what a loop over a list does is the caller's, who may recover.
func TestPanicLeaksNoDescriptor(t *testing.T) {
	t.Parallel()
	for name, leave := range map[string]func(){"panic": func() { panic("the caller's") }, "exit": runtime.Goexit} {
		s := open(t)
		put(t, s, storetest.New(t, "a", 500), store.Stored)
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			defer func() { _ = recover() }()
			for range s.List(bg) {
				leave()
			}
			t.Errorf("%s: the list is empty", name)
		}()
		<-ended
		must(t, s.Close())
		if n := descriptors(t, s.o.Dir); n != 0 {
			t.Errorf("%s: %d descriptors of a closed store", name, n)
		}
	}
}
