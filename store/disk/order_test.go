//go:build linux

package disk

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/kernstash/kernstash/key"
	"github.com/kernstash/kernstash/store"
	"github.com/kernstash/kernstash/store/storetest"
)

// inOrder returns a store of which two thirds of n entries are left, and the order of
// those; walked counts what is looked at from then on.
func inOrder(t *testing.T, n int, setup func(o *Options)) (s *Store, keys []key.Key, walked *atomic.Int64) {
	t.Helper()
	walked = new(atomic.Int64)
	distinct := func(i int) *store.Entry { return storetest.New(t, fmt.Sprint("e", i), 100) }
	s, keys = ageInTurn(t, n, distinct, func(o *Options) {
		o.hooks.order = n / 4
		o.hooks.counted = func(*Store) { walked.Add(1) }
		setup(o)
	})
	evictNow(s)
	if gone, _, _ := evicted(s, keys); gone < n/3 || gone > n/3+8 {
		t.Fatalf("%d of %d are gone", gone, n)
	}
	if walked.Swap(0) == 0 {
		t.Fatal("nothing was walked")
	}
	return s, keys[n/3:], walked
}

// fill puts so many entries.
func fill(t *testing.T, s *Store, name string, n int) (keys []key.Key) {
	t.Helper()
	for i := range n {
		e := storetest.New(t, fmt.Sprint(name, i), 100)
		for errors.Is(func() error { _, err := s.Put(bg, e); return err }(), store.ErrDropped) {
			settled(s)
			time.Sleep(fullPause)
		}
		keys = append(keys, e.Key)
	}
	return keys
}

func orderPath(s *Store) string { return filepath.Join(s.o.Dir, ".meta", "order") }

// TestOrderSavesTheWalk: what was found to go next goes next, and nothing is looked at
// for that; what was used since stays.
func TestOrderSavesTheWalk(t *testing.T) {
	t.Parallel()
	const n = 150
	s, keys, walked := inOrder(t, n, func(*Options) {})
	other := New(s.o) // another process may be the next to evict
	defer other.Close()
	for _, k := range keys[10:20] {
		if _, err := s.Get(bg, k); err != nil {
			t.Fatal(err)
		}
	}
	fill(t, other, "more", n/3+10)
	settled(other)
	if w := walked.Load(); w > 0 {
		t.Errorf("%d directories were looked at", w)
	}
	for i, k := range keys {
		there := exists(binPath(s, k))
		if used := i >= 10 && i < 20; used && !there || !used && i < n/3-10 && there || i > n/3+25 && !there {
			t.Errorf("number %d of those that were left is there: %v", i, there)
		}
	}
	if st := s.Status(); st.Bytes > s.o.MaxSize/100*78 || !st.Counted {
		t.Errorf("%+v of %d is left", st, s.o.MaxSize)
	}
	if r := wantClean(t, s); r.Bytes != s.Status().Bytes {
		t.Errorf("there are %d bytes, the account says %d", r.Bytes, s.Status().Bytes)
	}
}

// TestOrderGrows: what is put since comes behind all that was there before, and goes
// after it.
func TestOrderGrows(t *testing.T) {
	t.Parallel()
	const n = 150
	s, keys, walked := inOrder(t, n, func(*Options) {})
	var more []key.Key
	for i := range 4 {
		more = append(more, fill(t, s, fmt.Sprint("more", i, "."), n/3+10)...)
		settled(s)
	}
	if w := walked.Load(); w > 0 {
		t.Errorf("%d directories were looked at", w)
	}
	if gone, _, _ := evicted(s, keys); gone != len(keys) {
		t.Errorf("%d of the %d old ones are gone", gone, len(keys))
	}
	first := slices.IndexFunc(more, func(k key.Key) bool { return exists(binPath(s, k)) })
	if gone, _, _ := evicted(s, more); first < gone-takeAtOnce || gone == 0 {
		t.Errorf("%d of the newer ones are gone, the first that stayed is number %d", gone, first)
	}
	wantClean(t, s)
}

// TestOrderOfCost: by the cost policy only the worse half is taken without a look at
// what was put since.
func TestOrderOfCost(t *testing.T) {
	t.Parallel()
	s, _, _ := inOrder(t, 150, func(o *Options) { o.Policy = Cost })
	b, err := os.ReadFile(orderPath(s))
	must(t, err)
	if n := (len(b) - orderHead) / orderRecord; n < 46 || n > 50 {
		t.Errorf("%d of 100 are in the order, want half", n)
	}
	fill(t, s, "more", 5)
	if after, err := os.ReadFile(orderPath(s)); err != nil || len(after) != len(b) {
		t.Errorf("what was put was appended: %d bytes, were %d (%v)", len(after), len(b), err)
	}
}

// TestOrderIsBelievedInNothing: whatever is in the file, eviction goes on, and takes
// nothing but entries.
func TestOrderIsBelievedInNothing(t *testing.T) {
	t.Parallel()
	for name, damage := range map[string]func(t *testing.T, s *Store, path string, b []byte){
		"removed":       func(t *testing.T, _ *Store, path string, _ []byte) { must(t, os.Remove(path)) },
		"empty":         func(t *testing.T, _ *Store, path string, _ []byte) { must(t, os.Truncate(path, 0)) },
		"half":          func(t *testing.T, _ *Store, path string, b []byte) { must(t, os.Truncate(path, int64(len(b)/2))) },
		"other version": func(_ *testing.T, _ *Store, _ string, b []byte) { b[8]++ },
		"all taken":     func(_ *testing.T, _ *Store, _ string, b []byte) { binary.LittleEndian.PutUint64(b[40:], 1<<40) },
		"negative":      func(_ *testing.T, _ *Store, _ string, b []byte) { binary.LittleEndian.PutUint64(b[40:], 1<<63) },
		"too many":      func(_ *testing.T, _ *Store, _ string, b []byte) { binary.LittleEndian.PutUint64(b[16:], 1<<62) },
		"of the future": func(_ *testing.T, _ *Store, _ string, b []byte) { binary.LittleEndian.PutUint64(b[24:], 1<<62) },
		"other times": func(_ *testing.T, _ *Store, _ string, b []byte) {
			for at := orderHead; at < len(b); at += orderRecord {
				b[at+64]++
			}
		},
		"no names": func(_ *testing.T, _ *Store, _ string, b []byte) {
			copy(b[orderHead:], bytes.Repeat([]byte("../"), len(b)/3))
		},
		"a hole of terabytes": func(t *testing.T, _ *Store, path string, _ []byte) {
			must(t, os.Truncate(path, orderHead))
			must(t, os.Truncate(path, 1<<42))
		},
		"a FIFO": func(t *testing.T, _ *Store, path string, _ []byte) {
			must(t, os.Remove(path))
			must(t, syscall.Mkfifo(path, 0o600))
		},
		"of another user": func(t *testing.T, _ *Store, path string, _ []byte) { giveAway(t, path) },
		"a directory": func(t *testing.T, _ *Store, path string, _ []byte) {
			must(t, os.Remove(path))
			must(t, os.Mkdir(path, 0o700))
		},
		"a link": func(t *testing.T, s *Store, path string, b []byte) {
			elsewhere := filepath.Join(t.TempDir(), "elsewhere")
			must(t, os.WriteFile(elsewhere, b, 0o600))
			must(t, os.Remove(path))
			must(t, os.Symlink(elsewhere, path))
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			const n = 60
			s, _, _ := inOrder(t, n, func(*Options) {})
			b, err := os.ReadFile(orderPath(s))
			must(t, err)
			was := bytes.Clone(b)
			damage(t, s, orderPath(s), b)
			if !bytes.Equal(b, was) {
				must(t, os.WriteFile(orderPath(s), b, 0o600))
			}
			fill(t, s, "more", n/3+10)
			settled(s)
			if st := s.Status(); st.Bytes > s.o.MaxSize {
				t.Errorf("%d bytes are left of %d", st.Bytes, s.o.MaxSize)
			}
			if r := wantClean(t, s); r.Bytes != s.Status().Bytes {
				t.Errorf("there are %d bytes, the account says %d", r.Bytes, s.Status().Bytes)
			}
		})
	}
}

// TestOrderGetsOld: what was used since an order was made is not spared for ever.
func TestOrderGetsOld(t *testing.T) {
	t.Parallel()
	s, _, walked := inOrder(t, 120, func(*Options) {})
	o := s.o
	now := s.o.Now
	o.Now = func() time.Time { return now().Add(orderAge) }
	later := New(o)
	defer later.Close()
	fill(t, later, "more", 50)
	settled(later)
	if walked.Load() == 0 {
		t.Error("nothing was looked at")
	}
}

// TestOrderTakenTogether: many take from one order at once. Each gets others, and
// together they free hardly more than one would.
func TestOrderTakenTogether(t *testing.T) {
	t.Parallel()
	const n, evictors = 300, 8
	s, keys, _ := inOrder(t, n, func(*Options) {})
	full := s.o
	full.MaxSize = 0
	unlimited := New(full)
	defer unlimited.Close()
	fill(t, unlimited, "more", n/3+10) // nobody evicts meanwhile
	var wg sync.WaitGroup
	for range evictors {
		one := New(s.o)
		defer one.Close()
		wg.Go(func() { evictNow(one) })
	}
	wg.Wait()
	gone, _, _ := evicted(s, keys)
	if most := n/3 + 20 + evictors*takeAtOnce; gone < n/3 || gone > most {
		t.Errorf("%d are gone, want %d to %d", gone, n/3, most)
	}
	if r := wantClean(t, s); r.Bytes != s.Status().Bytes {
		t.Errorf("there are %d bytes, the account says %d", r.Bytes, s.Status().Bytes)
	}
}

// TestDocumentDescribesOrder reads an order by the table of docs/FORMAT.md.
func TestDocumentDescribesOrder(t *testing.T) {
	t.Parallel()
	s, keys, _ := inOrder(t, 120, func(*Options) {})
	added := fill(t, s, "more", 1)[0]
	b, err := os.ReadFile(orderPath(s))
	must(t, err)
	u32 := func(at int) int { return int(binary.LittleEndian.Uint32(b[at:])) }
	u64 := func(at int) int64 { return int64(binary.LittleEndian.Uint64(b[at:])) }
	records := (len(b) - 64) / 76
	if string(b[:8]) != "kstorder" || u32(8) != 1<<16|4 || u32(12) != 76 || u64(16) != int64(records-1) ||
		u64(24) != s.o.Now().UnixNano() || b[32] != 0 || b[33] != 1 || u64(40) != 0 {
		t.Errorf("header % x of %d records", b[:64], records)
	}
	for at, k := range map[int]key.Key{64: keys[1], 64 + 76*(records-1): added} {
		if at == 64 && exists(binPath(s, keys[0])) {
			k = keys[0] // a batch may give one too many
		}
		var dirs []string
		for i := range 4 {
			dirs = append(dirs, hex.EncodeToString(b[at+16*i:][:16]))
		}
		path := filepath.Join(s.o.Dir, filepath.Join(dirs...), fmt.Sprint(u32(at+72), ".bin"))
		info, err := os.Stat(path)
		if err != nil || path != binPath(s, k) || info.ModTime().UnixNano() != u64(at+64) {
			t.Errorf("record at %d: %s of %d, %v; want %s", at, path, u64(at+64), err, binPath(s, k))
		}
	}
}
