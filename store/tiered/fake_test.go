package tiered_test

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/kernstash/kernstash/key"
	"github.com/kernstash/kernstash/reason"
	"github.com/kernstash/kernstash/stats"
	"github.com/kernstash/kernstash/store"
	"github.com/kernstash/kernstash/store/disk"
	"github.com/kernstash/kernstash/store/memory"
	"github.com/kernstash/kernstash/store/tiered"
)

var errBroken = errors.New("broken")

// far is a store that many share, and that can be out of order. The zero value of what is not
// made by newFar is in order.
type far struct {
	*memory.Store
	mu      sync.Mutex
	recipes map[key.Key]*key.Recipe
	blobs   map[key.Digest][]byte

	fault                                   atomic.Pointer[func(ctx context.Context, op string) error] // before each call
	gets, puts, deletes, blobGets, blobPuts atomic.Int64
	cost                                    atomic.Int64 // of the build that the last lease is of
}

func (f *far) Lock(ctx context.Context, k key.Key, wait time.Duration) (func(), error) {
	f.cost.Store(int64(store.Cost(ctx)))
	return f.Store.Lock(ctx, k, wait)
}

func newFar() *far {
	return &far{Store: memory.New(memory.Options{}), recipes: make(map[key.Key]*key.Recipe), blobs: make(map[key.Digest][]byte)}
}

// fails has every call of some ops end with what f returns.
func (f *far) fails(fault func(ctx context.Context, op string) error) { f.fault.Store(&fault) }

func (f *far) works() { f.fault.Store(nil) }

func (f *far) call(ctx context.Context, n *atomic.Int64, op string) error {
	n.Add(1)
	if fault := f.fault.Load(); fault != nil {
		return (*fault)(ctx, op)
	}
	return nil
}

func (f *far) Fetch(ctx context.Context, k key.Key) (*store.Entry, error) {
	if err := f.call(ctx, &f.gets, "get"); err != nil {
		return nil, &store.MissError{Reason: reason.MissRemote, Cause: err}
	}
	e, err := f.Store.Get(ctx, k)
	if err != nil {
		return nil, err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	e.Recipe = f.recipes[k]
	return e, nil
}

func (f *far) Put(ctx context.Context, e *store.Entry) (store.PutResult, error) {
	if err := f.call(ctx, &f.puts, "put"); err != nil {
		return store.Failed, err
	}
	f.mu.Lock()
	f.recipes[e.Key] = e.Recipe
	f.mu.Unlock()
	return f.Store.Put(ctx, e)
}

func (f *far) Delete(ctx context.Context, k key.Key) error {
	if err := f.call(ctx, &f.deletes, "delete"); err != nil {
		return err
	}
	return f.Store.Delete(ctx, k)
}

func (f *far) GetBlob(ctx context.Context, kind store.Kind, name key.Digest) ([]byte, error) {
	if err := f.call(ctx, &f.blobGets, "get"); err != nil {
		return nil, &store.MissError{Reason: reason.MissRemote, Cause: err}
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if b, ok := f.blobs[name]; ok && kind == store.Manifests {
		return append([]byte(nil), b...), nil
	}
	return nil, &store.MissError{Reason: reason.MissAbsent}
}

func (f *far) HasBlob(store.Kind, key.Digest, int64) bool { return false }

func (f *far) PutBlob(ctx context.Context, kind store.Kind, name key.Digest, b []byte) error {
	if err := f.call(ctx, &f.blobPuts, "put"); err != nil {
		return err
	}
	if kind != store.Manifests {
		return store.ErrInvalid
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.blobs[name] = append([]byte(nil), b...)
	return nil
}

// machine is one that has a disk, and shares far stores.
type machine struct {
	*tiered.Store
	near   *disk.Store
	counts *stats.Counters
}

func newMachine(t *testing.T, o tiered.Options) *machine {
	t.Helper()
	m := &machine{counts: new(stats.Counters)}
	m.near = disk.New(disk.Options{Dir: t.TempDir() + "/root"})
	o.Recorder = m.counts
	m.Store = tiered.New(m.near, o)
	t.Cleanup(func() {
		m.Store.Close()
		m.near.Close()
	})
	return m
}

// settle waits until nothing waits to be stored or uploaded.
func (m *machine) settle(t *testing.T) {
	t.Helper()
	if !m.Flush(time.Now().Add(3 * time.Minute)) {
		t.Fatal("uploads hang")
	}
}

// counted compares counters with what they should be.
func (m *machine) counted(t *testing.T, want map[stats.Counter]int64) {
	t.Helper()
	got := m.counts.Snapshot()
	for c := stats.RemoteHits; c <= stats.LeasesGivenUp; c++ {
		if _, named := want[c]; (named || c != stats.RemoteSavedTime && c != stats.LeasesWon) && got[c] != want[c] {
			t.Errorf("%v is %d, want %d", c, got[c], want[c])
		}
	}
}
