package tiered_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kernstash/kernstash/key"
	"github.com/kernstash/kernstash/reason"
	"github.com/kernstash/kernstash/stats"
	"github.com/kernstash/kernstash/store"
	"github.com/kernstash/kernstash/store/remote/remotetest"
	"github.com/kernstash/kernstash/store/storetest"
	"github.com/kernstash/kernstash/store/tiered"
)

// The contract holds whatever the far stores do.
func TestStore(t *testing.T) {
	t.Parallel()
	for name, options := range map[string]func() tiered.Options{
		"alone": func() tiered.Options { return tiered.Options{} },
		"one":   func() tiered.Options { return tiered.Options{Far: []tiered.Far{{Name: "far", Store: newFar()}}} },
		"leases": func() tiered.Options {
			f := newFar()
			return tiered.Options{Far: []tiered.Far{{Name: "far", Store: f, Locker: f}}}
		},
		"two": func() tiered.Options {
			return tiered.Options{Far: []tiered.Far{{Name: "small", Store: newFar(), MaxSize: 10_000}, {Name: "far", Store: newFar()}}}
		},
		"remote": func() tiered.Options { return remoteOptions(new(remotetest.Memory)) },
		"slow": func() tiered.Options {
			return remoteOptions(&remotetest.Memory{Fault: remotetest.Slow(time.Millisecond)})
		},
		"full": func() tiered.Options { return remoteOptions(&remotetest.Memory{MaxBytes: 1}) },
		"corrupt": func() tiered.Options {
			return remoteOptions(&remotetest.Memory{Change: func(_ string, b []byte) []byte {
				if len(b) > 0 {
					b[len(b)/2] ^= 1
				}
				return b
			}})
		},
		"fails": func() tiered.Options {
			f := newFar()
			f.fails(func(context.Context, string) error { return errBroken })
			return tiered.Options{Far: []tiered.Far{{Name: "far", Store: f, Locker: f}}}
		},
		"hangs": func() tiered.Options {
			f := newFar()
			f.fails(func(ctx context.Context, _ string) error { <-ctx.Done(); return ctx.Err() })
			return tiered.Options{Far: []tiered.Far{{Name: "far", Store: f, Timeout: 50 * time.Millisecond}}, CloseWait: time.Millisecond}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			storetest.Run(t, func(t *testing.T) store.Store { return nearMisses{newMachine(t, options()).Store} })
		})
	}
}

func remoteOptions(m *remotetest.Memory) tiered.Options {
	o, _ := withLeases(m, 0)
	return o
}

// nearMisses is a store that says of a miss what the near store says: of one that asks in vain in
// a far store that is out of order, the contract's test wants to hear that the entry is not there.
type nearMisses struct{ *tiered.Store }

func (s nearMisses) Get(ctx context.Context, k key.Key) (*store.Entry, error) {
	e, err := s.Store.Get(ctx, k)
	if m, ok := errors.AsType[*store.MissError](err); ok && m.Reason != reason.MissAbsent {
		return s.Near.Get(ctx, k)
	}
	return e, err
}

// What one machine builds the other finds, and keeps: the far store is asked once.
func TestOneBuildsForAll(t *testing.T) {
	t.Parallel()
	shared := newFar()
	far := []tiered.Far{{Name: "redis://shared", Store: shared}}
	a, b := newMachine(t, tiered.Options{Far: far}), newMachine(t, tiered.Options{Far: far})
	mine, e := storetest.New(t, "e", 1000), storetest.New(t, "e", 1000)
	gate := make(chan struct{})
	shared.fails(func(_ context.Context, op string) error {
		if op == "put" {
			<-gate
		}
		return nil
	})
	if res, err := a.Put(t.Context(), mine); err != nil || res != store.Stored {
		t.Fatal(res, err)
	}
	clear(mine.Artifact.Binaries[0].Data) // which was put as it was
	close(gate)
	a.settle(t)
	for i, want := range []string{"redis://shared", ""} {
		got, err := b.Get(t.Context(), e.Key)
		if err != nil || got.From != want || got.Recipe != nil || string(got.Artifact.Binaries[0].Data) != string(e.Artifact.Binaries[0].Data) {
			t.Fatalf("get %d: %+v, %v; want it from %q", i, got, err, want)
		}
		clear(got.Artifact.Binaries[0].Data) // it is the caller's
		b.settle(t)
	}
	if n := shared.gets.Load(); n != 1 {
		t.Errorf("%d calls, want 1", n)
	}
	a.counted(t, nil)
	b.counted(t, map[stats.Counter]int64{stats.RemoteHits: 1})
	if n := shared.puts.Load(); n != 1 { // rule 5: who has found it does not upload
		t.Errorf("%d uploads, want 1", n)
	}
}

// Rule 5: what is near as good already was uploaded by whoever stored it.
func TestExistingIsNotUploaded(t *testing.T) {
	t.Parallel()
	f := newFar()
	m := newMachine(t, tiered.Options{Far: []tiered.Far{{Name: "far", Store: f, Locker: f, Timeout: time.Minute}}})
	e := storetest.New(t, "e", 100)
	for _, want := range []store.PutResult{store.Stored, store.Existing, store.Existing} {
		if res, err := m.Put(t.Context(), e); err != nil || res != want {
			t.Fatal(res, err)
		}
		m.settle(t)
	}
	if n := f.puts.Load(); n != 1 {
		t.Errorf("%d uploads, want 1", n)
	}
	// Who has its lease has found it nowhere.
	unlock, err := m.Lock(t.Context(), e.Key, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer unlock()
	if res, err := m.Put(t.Context(), e); err != nil || res != store.Existing {
		t.Fatal(res, err)
	}
	m.settle(t)
	if n := f.puts.Load(); n != 2 {
		t.Errorf("%d uploads with the second, want 2", n)
	}
}

// Rule 15: what is saved is what the build cost less what it took to fetch.
func TestSavedTime(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFar()
		e := storetest.New(t, "e", 100)
		e.Artifact.Cost = 10 * time.Second
		if _, err := f.Put(t.Context(), e); err != nil {
			t.Fatal(err)
		}
		f.fails(func(context.Context, string) error { time.Sleep(100 * time.Millisecond); return nil })
		m := newMachine(t, tiered.Options{Far: []tiered.Far{{Name: "far", Store: f}}})
		for range 2 { // the second time it is near
			if _, err := m.Get(t.Context(), e.Key); err != nil {
				t.Fatal(err)
			}
			m.settle(t)
		}
		m.counted(t, map[stats.Counter]int64{stats.RemoteHits: 1, stats.RemoteSavedTime: int64(9900 * time.Millisecond)})
	})
}

func miss(t *testing.T, s store.Store, k key.Key, want reason.Reason) {
	t.Helper()
	_, err := s.Get(context.Background(), k)
	if m, ok := errors.AsType[*store.MissError](err); !ok || m.Reason != want || !errors.Is(err, store.ErrNotFound) {
		t.Fatalf("get: %v, want a miss for %v", err, want)
	}
}
