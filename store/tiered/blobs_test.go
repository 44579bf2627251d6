package tiered_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kernstash/kernstash/deps/manifest"
	"github.com/kernstash/kernstash/key"
	"github.com/kernstash/kernstash/reason"
	"github.com/kernstash/kernstash/stats"
	"github.com/kernstash/kernstash/store"
	"github.com/kernstash/kernstash/store/storetest"
	"github.com/kernstash/kernstash/store/tiered"
)

// Manifests go through the tiers, headers do not, and what is no manifest does not either.
func TestManifests(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFar()
		far := []tiered.Far{{Name: "far", Store: f}}
		a, b := newMachine(t, tiered.Options{Far: far}), newMachine(t, tiered.Options{Far: far})
		name := key.Digest{1}
		read := manifest.Read{Path: "/a.h", Settled: true}
		read.Stamp.Mtime, read.Stamp.Number = 5, 6
		unit := key.Unit{Dir: "/d", Includes: []key.Include{{Name: `"a.h"`}}, Files: []key.File{{Path: "/a.h", Digest: headerDigest}}}
		content := manifest.New(unit, 0, []manifest.Read{read}, nil).Append(nil, name)
		bare := manifest.New(unit, 0, []manifest.Read{{Path: "/a.h"}}, nil).Append(nil, name) // with no stamp to be believed
		for _, err := range []error{
			a.PutBlob(t.Context(), store.Manifests, name, content),
			a.PutBlob(t.Context(), store.Manifests, name, content), // as it is there already
			a.PutBlob(t.Context(), store.Manifests, key.Digest{2}, []byte("none")),
			a.PutBlob(t.Context(), store.Manifests, key.Digest{3}, content), // under another name
			a.PutBlob(t.Context(), store.Headers, headerDigest, []byte(header)),
		} {
			if err != nil {
				t.Fatal(err)
			}
		}
		a.settle(t)
		if n := f.blobPuts.Load(); n != 1 {
			t.Errorf("%d uploads, want 1", n)
		}
		for range 2 {
			got, err := b.GetBlob(t.Context(), store.Manifests, name)
			if err != nil || !bytes.Equal(got, bare) {
				t.Fatalf("get: %q, %v; want %q", got, err, bare)
			}
			clear(got)
			b.settle(t)
		}
		if err := b.PutBlob(t.Context(), store.Manifests, name, content); err != nil { // renewed
			t.Fatal(err)
		}
		b.settle(t)
		for range 3 {
			if _, err := b.GetBlob(t.Context(), store.Manifests, key.Digest{9}); err == nil {
				t.Error("a manifest of nothing")
			}
			if _, err := b.GetBlob(t.Context(), store.Headers, headerDigest); err == nil {
				t.Error("a header from far")
			}
		}
		if gets, puts := f.blobGets.Load(), f.blobPuts.Load(); gets != 2 || puts != 1 {
			t.Errorf("%d gets, %d puts; want 2 and 1", gets, puts)
		}
		// One that is damaged, or of another name, is none.
		f.blobs[key.Digest{4}], f.blobs[key.Digest{5}] = content, content[:len(content)-1]
		for _, name := range []key.Digest{{4}, {5}} {
			if got, err := b.GetBlob(t.Context(), store.Manifests, name); err == nil {
				t.Errorf("get: %q", got)
			}
		}
		// One that hangs costs its deadline once.
		f.fails(hang)
		begin := time.Now()
		for i := range 10 {
			if _, err := b.GetBlob(t.Context(), store.Manifests, key.Digest{10, byte(i)}); err == nil {
				t.Error("it hangs and answers")
			}
		}
		if took := time.Since(begin); took != 500*time.Millisecond {
			t.Errorf("ten manifests take %v", took)
		}
	})
}

// A manifest that could not be uploaded is uploaded when it is put again.
func TestManifestIsUploadedLater(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFar()
		f.fails(func(context.Context, string) error { return errBroken })
		m := newMachine(t, tiered.Options{Far: []tiered.Far{{Name: "far", Store: f}}})
		name := key.Digest{1}
		unit := key.Unit{Dir: "/d", Includes: []key.Include{{Name: `"a.h"`}}, Files: []key.File{{Path: "/a.h", Digest: headerDigest}}}
		content := manifest.New(unit, 0, []manifest.Read{{Path: "/a.h"}}, nil).Append(nil, name)
		for i, want := range []int64{1, 1, 2, 2} { // the second one meets the pause of the breaker, the last one what is there
			if err := m.PutBlob(t.Context(), store.Manifests, name, content); err != nil {
				t.Fatal(err)
			}
			m.settle(t)
			if n := f.blobPuts.Load(); n != want {
				t.Errorf("put %d: %d uploads, want %d", i, n, want)
			}
			if i == 1 {
				f.works()
				time.Sleep(2 * time.Second)
			}
		}
	})
}

const header = "#define A\n"

var headerDigest = key.Digest(sha256.Sum256([]byte(header)))

// Nothing runs when nothing is to be done, and nothing is left after Close.
func TestGoroutines(t *testing.T) { // not parallel: it counts goroutines
	ours := func() (n int) {
		b := make([]byte, 1<<20)
		for _, g := range strings.Split(string(b[:runtime.Stack(b, true)]), "\n\n") {
			if strings.Contains(g, "store/tiered.(*") || strings.Contains(g, "store/tiered.call") {
				n++
			}
		}
		return n
	}
	before := ours()
	f := newFar()
	m := newMachine(t, tiered.Options{Far: []tiered.Far{{Name: "far", Store: f, Locker: f}}})
	for i := range 20 {
		e := storetest.New(t, string(rune('a'+i)), 100)
		miss(t, m, e.Key, reason.MissAbsent)
		unlock, err := m.Lock(t.Context(), e.Key, 0)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := m.Put(t.Context(), e); err != nil {
			t.Fatal(err)
		}
		unlock()
	}
	m.settle(t)
	for deadline := time.Now().Add(time.Minute); ours() > before && time.Now().Before(deadline); {
		runtime.Gosched()
	}
	if n := ours(); n != before {
		t.Errorf("%d goroutines while idle, %d before", n, before)
	}
	f.fails(func(ctx context.Context, _ string) error { <-ctx.Done(); return ctx.Err() })
	go func() { _, _ = m.Get(context.Background(), storetest.New(t, "hangs", 1).Key) }()
	_, _ = m.Put(t.Context(), storetest.New(t, "never", 1))
	m.Close()
	for deadline := time.Now().Add(time.Minute); ours() > before && time.Now().Before(deadline); {
		runtime.Gosched()
	}
	if n := ours(); n != before {
		t.Errorf("%d goroutines after Close, %d before", n, before)
	}
	if n := m.counts.Snapshot()[stats.RemotePuts]; n != 0 {
		t.Errorf("%d puts counted by who does not put", n)
	}
}

// A hit near makes no more garbage with remotes behind it than without.
func TestHitAllocates(t *testing.T) { // not parallel: it counts allocations
	m := newMachine(t, tiered.Options{Far: []tiered.Far{{Name: "far", Store: newFar()}}})
	e := storetest.New(t, "e", 1000)
	if _, err := m.Put(t.Context(), e); err != nil {
		t.Fatal(err)
	}
	m.settle(t)
	of := func(s store.Store) float64 {
		return testing.AllocsPerRun(100, func() { _, _ = s.Get(context.Background(), e.Key) })
	}
	if with, without := of(m.Store), of(m.near); with > without {
		t.Errorf("%v allocations, %v without remotes", with, without)
	}
}
