package agent

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/kernstash/kernstash/key"
	"github.com/kernstash/kernstash/stats"
	"github.com/kernstash/kernstash/store"
	"github.com/kernstash/kernstash/store/disk"
)

// tenant is one that is served.
type tenant struct {
	Tenant
	near   *disk.Store
	signer Signer // nil: the node cache is without signatures
	store  Store
	end    func(context.Context)
	counts stats.Counters
	limit  time.Duration // of a fetch
	most   int           // fetches that are under way

	gets, hits, fetched, puts, untrusted atomic.Int64

	mu      sync.Mutex
	fetches map[string]*fetch // under way

	ahead      int                  // prefetches under way
	prefetched map[string]time.Time // when those of the applications began
}

const (
	// Of a thousand ranks that start at once each asks for the same.
	prefetchPause = 10 * time.Second

	maxPrefetches = 4   // under way: a pack takes memory
	maxPrefetched = 256 // that are remembered
)

// beginPrefetch reports whether what an application uses is to be fetched: it was not begun just now, and there are not
// too many.
func (t *tenant) beginPrefetch(app string, now time.Time) (done func(), begun bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if at, was := t.prefetched[app]; was && now.Sub(at) < prefetchPause || t.ahead >= maxPrefetches {
		return nil, false
	}
	if t.prefetched == nil || len(t.prefetched) >= maxPrefetched {
		t.prefetched = make(map[string]time.Time)
	}
	t.prefetched[app] = now
	t.ahead++
	return func() {
		t.mu.Lock()
		defer t.mu.Unlock()
		t.ahead--
	}, true
}

// writes reports whether users may hand entries over: what could not be signed would be of no use.
func (t *tenant) writes() bool {
	return t.Write && (t.signer == nil || !t.signer.Asks() || t.signer.Signs())
}

// errBusy says that the server has no room now.
var errBusy = errors.New("busy")

// fetch is one that all who ask for the same meanwhile wait for.
type fetch struct {
	done  chan struct{}
	entry *store.Entry // read only
	blob  []byte       // likewise
	err   error
}

// get returns an entry that the node cache had no file of. A fetch goes on when nobody waits
// any more: the next caller finds it.
func (t *tenant) get(ctx context.Context, k key.Key) (*store.Entry, error) {
	f := t.once(ctx, string(k.Sum[:]), func(ctx context.Context, f *fetch) { f.entry, f.err = t.store.Get(ctx, k) })
	return f.entry, f.err
}

func (t *tenant) manifest(ctx context.Context, name key.Digest) ([]byte, error) {
	f := t.once(ctx, "m"+string(name[:]), func(ctx context.Context, f *fetch) {
		f.blob, f.err = t.store.GetBlob(ctx, store.Manifests, name)
	})
	return f.blob, f.err
}

// once runs do, unless it runs for the same name already, and waits for it as long as ctx says.
func (t *tenant) once(ctx context.Context, name string, do func(context.Context, *fetch)) *fetch {
	t.mu.Lock()
	f, under := t.fetches[name]
	if !under && len(t.fetches) >= t.most {
		t.mu.Unlock()
		return &fetch{err: errBusy}
	}
	if !under {
		f = &fetch{done: make(chan struct{})}
		t.fetches[name] = f
		go func() {
			ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), t.limit)
			defer cancel()
			defer func() {
				if v := recover(); v != nil {
					f.entry, f.blob, f.err = nil, nil, fmt.Errorf("panic: %v", v)
				}
				t.mu.Lock()
				delete(t.fetches, name)
				t.mu.Unlock()
				close(f.done)
			}()
			do(ctx, f)
		}()
	}
	t.mu.Unlock()
	select {
	case <-f.done:
		return f
	case <-ctx.Done():
		return &fetch{err: ctx.Err()}
	}
}

func (t *tenant) status(owner bool) TenantStatus {
	d := t.near.Status()
	st := TenantStatus{
		Name: t.Name, Write: t.writes(), Entries: d.Entries, Bytes: d.Bytes, MaxBytes: d.MaxSize,
		Gets: t.gets.Load(), Hits: t.hits.Load(), Fetched: t.fetched.Load(), Puts: t.puts.Load(), Untrusted: t.untrusted.Load(), Remote: make(map[string]int64),
	}
	if owner {
		st.Dir = d.Dir
	}
	now := t.counts.Snapshot()
	for c := stats.RemoteHits; int(c) < stats.NumCounters; c++ {
		if now[c] != 0 {
			st.Remote[c.String()] = now[c]
		}
	}
	return st
}
