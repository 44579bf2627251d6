//go:build linux

package disk

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/kernstash/kernstash/store"
	"github.com/kernstash/kernstash/store/storetest"
)

// FuzzOrder: whatever is in the place of the order, taking from it comes to an end, and
// nothing goes but what is an entry of the time that it names.
func FuzzOrder(f *testing.F) {
	s := New(Options{Dir: filepath.Join(f.TempDir(), "root"), Policy: LRU})
	f.Cleanup(func() { _ = s.Close() })
	e := storetest.New(f, "e", 100)
	put(f, s, e, store.Stored)
	r, err := s.acquire(false)
	must(f, err)
	f.Cleanup(r.release)
	m, err := r.meta(false)
	must(f, err)
	info, err := os.Stat(binPath(s, e.Key))
	must(f, err)

	v := victim{mtime: info.ModTime().UnixNano() - 1}
	v.name(s.names(e.Key))
	head := orderHeader{last: 1, made: s.nowNanos(), policy: LRU, open: true}
	good := make([]byte, orderHead+orderRecord)
	head.put(good)
	v.put(good[orderHead:])
	f.Add(good)
	f.Add(good[:orderHead])
	f.Add([]byte(orderMagic))
	f.Fuzz(func(t *testing.T, b []byte) {
		if len(b) > orderHead {
			head.made = s.nowNanos() // so that it is not too old
			copy(b[24:32], func() []byte { h := make([]byte, orderHead); head.put(h); return h[24:32] }())
		}
		must(t, os.WriteFile(orderPath(s), b, 0o600))
		h := &shrink{s: s, r: r, b: s.openBooks(m), ctx: bg, count: bg, down: -1}
		h.shrinkInOrder()
		if _, err := s.Get(bg, e.Key); err != nil {
			now, statErr := os.Stat(binPath(s, e.Key))
			if statErr == nil || !errors.Is(statErr, os.ErrNotExist) {
				t.Fatalf("the entry is there, %v, and not found: %v", now, err)
			}
			put(t, s, e, store.Stored) // its very time was found
		}
	})
}
