package tiered_test

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"path/filepath"
	"strconv"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kernstash/kernstash/deps/manifest"
	"github.com/kernstash/kernstash/key"
	"github.com/kernstash/kernstash/reason"
	"github.com/kernstash/kernstash/stats"
	"github.com/kernstash/kernstash/store"
	"github.com/kernstash/kernstash/store/disk"
	"github.com/kernstash/kernstash/store/remote"
	"github.com/kernstash/kernstash/store/remote/remotetest"
	"github.com/kernstash/kernstash/store/storetest"
	"github.com/kernstash/kernstash/store/tiered"
	"github.com/kernstash/kernstash/trust"
)

// uses is how many entries the application of the tests uses.
const uses = 80

// known is an application in an engine: its entries, a manifest, and a key that the engine has not.
type known struct {
	m         *remotetest.Memory
	trips     atomic.Int64 // calls of the engine
	hangs     atomic.Bool
	list      atomic.Value // the name of the one object that does not hang
	keys      []key.Key
	manifests []key.Digest
}

func newKnown(t *testing.T, o remote.Options) *known {
	t.Helper()
	k := new(known)
	k.m = &remotetest.Memory{Fault: func(ctx context.Context, op remotetest.Op, name string) error {
		if k.hangs.Load() && name != k.list.Load() {
			return remotetest.Hang(ctx, op, name)
		}
		k.trips.Add(1)
		return remotetest.Slow(10*time.Millisecond)(ctx, op, name)
	}}
	s := remote.New(oneByOne{k.m}, o) // so there is a pack
	var sums []key.Digest
	for i := range uses {
		e := storetest.New(t, strconv.Itoa(i), 500)
		if _, err := s.Put(t.Context(), e); err != nil {
			t.Fatal(err)
		}
		k.keys, sums = append(k.keys, e.Key), append(sums, e.Key.Sum, e.Key.Sum)
	}
	k.manifests = []key.Digest{{1}}
	if err := s.PutBlob(t.Context(), store.Manifests, k.manifests[0], content(k.manifests[0], true)); err != nil {
		t.Fatal(err)
	}
	absent := storetest.New(t, "absent", 1).Key
	if put, err := s.PutApp(t.Context(), "app", append(sums, absent.Sum), k.manifests); err != nil || put.Listed != uses || put.Absent != 1 || put.Manifests != 1 {
		t.Fatalf("%+v, %v", put, err)
	}
	k.trips.Store(0)
	return k
}

// content returns a manifest, with the stamp of a file or without.
func content(name key.Digest, stamped bool) []byte {
	read := manifest.Read{Path: "/a.h", Settled: stamped}
	if stamped {
		read.Stamp.Mtime, read.Stamp.Number = 5, 6
	}
	unit := key.Unit{Dir: "/d", Includes: []key.Include{{Name: `"a.h"`}}, Files: []key.File{{Path: "/a.h", Digest: headerDigest}}}
	return manifest.New(unit, 0, []manifest.Read{read}, nil).Append(nil, name)
}

// oneByOne hides what an engine offers beyond Objects.
type oneByOne struct{ remote.Objects }

func (k *known) far(o remote.Objects, opt remote.Options) []tiered.Far {
	return []tiered.Far{{Name: "far", Store: remote.New(o, opt)}}
}

func (k *known) near(t *testing.T, m *machine) (n int) {
	t.Helper()
	for _, k := range k.keys {
		if e, err := m.near.Get(t.Context(), k); err == nil && e.Artifact.Size() == 500 {
			n++
		}
	}
	return n
}

// Rule 10: what a program used before comes in one round trip behind that of its list: in a pipeline, or as a pack.
func TestPrefetch(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		k := newKnown(t, remote.Options{})
		for name, tt := range map[string]struct {
			o     remote.Objects
			trips int64
		}{
			"a pipeline": {k.m, 1 + 1 + uses + 1 + 1}, // the list; a round trip of all entries, and one of the manifest, each of which counts, too
			"a pack":     {oneByOne{k.m}, 2},
		} {
			a := newMachine(t, tiered.Options{Far: k.far(tt.o, remote.Options{})})
			k.trips.Store(0)
			begin := time.Now()
			got := a.Prefetch(t.Context(), "app")
			if want := (store.Prefetched{From: "far", Listed: uses, Came: uses, Manifests: 1}); got != want {
				t.Errorf("%s: %+v, want %+v", name, got, want)
			}
			if took := time.Since(begin); k.trips.Load() != tt.trips || name == "a pack" && took != 20*time.Millisecond {
				t.Errorf("%s: %d calls, %v", name, k.trips.Load(), took)
			}
			// The stamps are another machine's.
			if b, err := a.near.GetBlob(t.Context(), store.Manifests, k.manifests[0]); err != nil || !bytes.Equal(b, content(k.manifests[0], false)) || k.near(t, a) != uses {
				t.Errorf("%s: %d entries are near, manifest: %q, %v", name, k.near(t, a), b, err)
			}
			if n := a.counts.Snapshot().Get(stats.RemoteHits); n != uses {
				t.Errorf("%s: %d hits are counted", name, n)
			}
			k.trips.Store(0)
			if got := a.Prefetch(t.Context(), "app"); got != (store.Prefetched{From: "far", Listed: uses, Near: uses}) || k.trips.Load() != 1 {
				t.Errorf("%s: again: %+v, %d calls", name, got, k.trips.Load())
			}
			if got := a.Prefetch(t.Context(), "another"); got != (store.Prefetched{}) {
				t.Errorf("%s: of an application that nobody knows: %+v", name, got)
			}
		}

		// Where less than half is missing the pack is not read.
		for near, trips := range map[int]int64{uses/2 - 1: 2, uses/2 + 1: 1 + uses/2 - 1 + 1} {
			c := newMachine(t, tiered.Options{Far: k.far(oneByOne{k.m}, remote.Options{})})
			for i := range near {
				if _, err := c.near.Put(t.Context(), storetest.New(t, strconv.Itoa(i), 500)); err != nil {
					t.Fatal(err)
				}
			}
			k.trips.Store(0)
			if got := c.Prefetch(t.Context(), "app"); got.Near != near || got.Came != uses-near || k.trips.Load() != trips {
				t.Errorf("%d are near: %+v, %d calls, want %d", near, got, k.trips.Load(), trips)
			}
		}
		readOnly := newMachine(t, tiered.Options{Far: k.far(k.m, remote.Options{}), ReadOnly: true})
		if got := readOnly.Prefetch(t.Context(), "app"); got != (store.Prefetched{}) {
			t.Errorf("%+v where nothing is kept", got)
		}

		// One that hangs does so for a bounded time, and is given up.
		k.hangs.Store(true)
		b := newMachine(t, tiered.Options{Far: k.far(k.m, remote.Options{})})
		begin := time.Now()
		if got := b.Prefetch(t.Context(), "app"); got != (store.Prefetched{}) || time.Since(begin) != 500*time.Millisecond {
			t.Errorf("%+v of one that hangs, %v", got, time.Since(begin))
		}
		begin = time.Now()
		miss(t, b, k.keys[0], reason.MissRemote)
		if got := b.Prefetch(t.Context(), "app"); got != (store.Prefetched{}) || time.Since(begin) != 0 {
			t.Errorf("%+v of one that is given up, %v", got, time.Since(begin))
		}
		// So does one that has told what is used.
		k.list.Store(remote.New(k.m, remote.Options{}).AppName("app"))
		c := newMachine(t, tiered.Options{Far: k.far(k.m, remote.Options{})})
		begin = time.Now()
		if got := c.Prefetch(t.Context(), "app"); got != (store.Prefetched{From: "far", Listed: uses}) || time.Since(begin) != 10*time.Second+10*time.Millisecond {
			t.Errorf("%+v of one that hangs behind its list, %v", got, time.Since(begin))
		}
	})
}

// A store that answers with what it was not asked for has nothing of it kept.
func TestPrefetchLies(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		asked, other := storetest.New(t, "asked", 10), storetest.New(t, "other", 10)
		for name, answer := range map[string]*store.Entry{
			"another": other, "none": nil, "without a recipe": {Key: asked.Key, Artifact: asked.Artifact}, "without an artifact": {Key: asked.Key, Recipe: asked.Recipe},
		} {
			m := newMachine(t, tiered.Options{Far: []tiered.Far{{Name: "far", Store: lister{newFar(), asked.Key, answer}}}})
			if got := m.Prefetch(t.Context(), "app"); got != (store.Prefetched{From: "far", Listed: 1}) {
				t.Errorf("%s: %+v", name, got)
			}
			for _, k := range []key.Key{asked.Key, other.Key} {
				miss(t, m.near, k, reason.MissAbsent)
			}
		}
	})
}

// lister knows of one key, and answers with something.
type lister struct {
	*far
	k      key.Key
	answer *store.Entry
}

func (l lister) App(context.Context, string) (*store.App, error) {
	return &store.App{Keys: []key.Key{l.k}}, nil
}

func (l lister) GetApp(
	_ context.Context, _ string, _ *store.App, _ bool, got func(key.Key, *store.Entry, error), _ func(key.Digest, []byte, []byte, error),
) {
	got(l.k, l.answer, nil)
}

// A near store that asks for signatures gets them.
func TestPrefetchKeepsSeals(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		private := ed25519.NewKeyFromSeed(make([]byte, ed25519.SeedSize))
		o := remote.Options{Sign: private, Trust: trust.Of(private.Public().(ed25519.PublicKey))}
		k := newKnown(t, o)
		if err := remote.New(k.m, o).PutBlob(t.Context(), store.Manifests, k.manifests[0], content(k.manifests[0], false)); err != nil {
			t.Fatal(err)
		}
		near := disk.New(disk.Options{Dir: filepath.Join(t.TempDir(), "root"), Vetter: remote.New(nil, o)})
		defer near.Close()
		s := tiered.New(near, tiered.Options{Far: k.far(k.m, remote.Options{Trust: o.Trust})})
		defer s.Close()
		if got := s.Prefetch(t.Context(), "app"); got != (store.Prefetched{From: "far", Listed: uses, Came: uses, Manifests: 1}) {
			t.Errorf("%+v", got)
		}
		if n := k.near(t, &machine{near: near}); n != uses {
			t.Errorf("%d entries are near", n)
		}
		if _, err := near.GetBlob(t.Context(), store.Manifests, k.manifests[0]); err != nil {
			t.Errorf("the manifest: %v", err)
		}
	})
}

// What was found in one store is in the nearer one as it came, and near with the seal of it: who copies it has a key, and does not vouch for it.
func TestSealsAreKept(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		builder, mine := ed25519.NewKeyFromSeed(make([]byte, ed25519.SeedSize)), ed25519.NewKeyFromSeed(bytes.Repeat([]byte{1}, ed25519.SeedSize))
		o := remote.Options{Sign: mine, Trust: trust.Of(builder.Public().(ed25519.PublicKey), mine.Public().(ed25519.PublicKey))}
		hot, record := new(remotetest.Memory), new(remotetest.Memory)
		e := storetest.New(t, "e", 500)
		w := remote.New(record, remote.Options{Sign: builder})
		if _, err := w.Put(t.Context(), e); err != nil {
			t.Fatal(err)
		}
		m := newMachine(t, tiered.Options{Far: []tiered.Far{{Name: "hot", Store: remote.New(hot, o)}, {Name: "record", Store: remote.New(record, o)}}})
		if _, err := m.Get(t.Context(), e.Key); err != nil {
			t.Fatal(err)
		}
		m.settle(t)
		want := record.Object(w.Name(e.Key))
		if !bytes.Equal(hot.Object(w.Name(e.Key)), want) {
			t.Error("the nearer store has another object")
		}
		if seal, err := m.near.Seal(t.Context(), e.Key); err != nil || len(seal) == 0 || !bytes.HasPrefix(want, seal) {
			t.Errorf("the near store has another seal: %x, %v", seal, err)
		}
	})
}

// What the first store does not have the next one is asked for; the list may be of either.
func TestPrefetchFromSeveral(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		hot, record := newKnown(t, remote.Options{}), newKnown(t, remote.Options{})
		s := remote.New(hot.m, remote.Options{})
		for i, k := range hot.keys {
			if i%2 == 0 {
				if err := s.Delete(t.Context(), k); err != nil {
					t.Fatal(err)
				}
			}
		}
		far := append(hot.far(hot.m, remote.Options{}), record.far(oneByOne{record.m}, remote.Options{})...)
		far[1].Name = "record"
		a := newMachine(t, tiered.Options{Far: far})
		if got := a.Prefetch(t.Context(), "app"); got != (store.Prefetched{From: "far", Listed: uses, Came: uses, Manifests: 1}) || hot.near(t, a) != uses {
			t.Errorf("%+v", got)
		}
		if err := hot.m.Delete(t.Context(), s.AppName("app")); err != nil {
			t.Fatal(err)
		}
		b := newMachine(t, tiered.Options{Far: far})
		if got := b.Prefetch(t.Context(), "app"); got != (store.Prefetched{From: "record", Listed: uses, Came: uses, Manifests: 1}) {
			t.Errorf("%+v", got)
		}
	})
}

// A list that nobody has signed who is trusted is none, and counted.
func TestPrefetchUntrusted(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		private := ed25519.NewKeyFromSeed(make([]byte, ed25519.SeedSize))
		list := trust.Of(private.Public().(ed25519.PublicKey))
		k := newKnown(t, remote.Options{})
		a := newMachine(t, tiered.Options{Far: k.far(k.m, remote.Options{Trust: list})})
		if got := a.Prefetch(t.Context(), "app"); got != (store.Prefetched{}) || k.near(t, a) != 0 {
			t.Errorf("%+v", got)
		}
		if n := a.counts.Snapshot().Get(stats.Of(reason.MissUntrusted)); n != 1 {
			t.Errorf("%d are counted as untrusted", n)
		}
		// A list that is signed, of entries that are not.
		signs := remote.New(k.m, remote.Options{Sign: private, Tenant: "default"})
		var sums []key.Digest
		for _, key := range k.keys {
			sums = append(sums, key.Sum)
		}
		if _, err := signs.PutApp(t.Context(), "app", sums, nil); err != nil {
			t.Fatal(err)
		}
		b := newMachine(t, tiered.Options{Far: k.far(oneByOne{k.m}, remote.Options{Trust: list})})
		if got := b.Prefetch(t.Context(), "app"); got.Listed != uses || got.Came != 0 || k.near(t, b) != 0 {
			t.Errorf("%+v", got)
		}
		if n := b.counts.Snapshot().Get(stats.Of(reason.MissUntrusted)); n != uses {
			t.Errorf("%d are counted as untrusted", n)
		}
	})
}
