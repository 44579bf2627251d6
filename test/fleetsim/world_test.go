// Package fleetsim runs the code of remotes, leases and signatures on thousands of machines that
// are simulated, in virtual time, and beside that on a few hundred real processes with real engines.
package fleetsim

import (
	"context"
	"crypto/ed25519"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/kernstash/kernstash/key"
	"github.com/kernstash/kernstash/reason"
	"github.com/kernstash/kernstash/spool"
	"github.com/kernstash/kernstash/stats"
	"github.com/kernstash/kernstash/store"
	"github.com/kernstash/kernstash/store/memory"
	"github.com/kernstash/kernstash/store/remote"
	"github.com/kernstash/kernstash/store/remote/lease"
	"github.com/kernstash/kernstash/store/remote/remotetest"
	"github.com/kernstash/kernstash/store/storetest"
	"github.com/kernstash/kernstash/store/tiered"
)

// engine is what a remote engine takes for a call, and when it is out of order. What it does is
// remotetest.Memory's.
type engine struct {
	name     string
	trip     time.Duration // there and back
	perCall  time.Duration // of the engine, which serves one call after the other
	perSize  time.Duration // of an entry, as perCall
	perS     int           // calls a second, over which it answers errSlowDown; 0: no limit
	lostFrom time.Duration // since the start: it swallows what it is sent; 0: never

	start time.Time
	mu    sync.Mutex
	free  time.Time // when what it was asked so far is done
	calls []int     // in each second, where there is a limit
	there map[string]bool
	bytes int64 // of entries, both ways
}

var errSlowDown = fmt.Errorf("503 SlowDown: %w", store.ErrBusy)

// fault is remotetest.Memory.Fault: it takes the time that the call takes.
func (e *engine) fault(ctx context.Context, op remotetest.Op, name string) error {
	now := time.Now()
	since := now.Sub(e.start)
	if e.lostFrom > 0 && since >= e.lostFrom {
		<-ctx.Done()
		return context.Cause(ctx)
	}
	e.mu.Lock()
	if e.perS > 0 {
		second := int(since / time.Second)
		for len(e.calls) <= second {
			e.calls = append(e.calls, 0)
		}
		if e.calls[second]++; e.calls[second] > e.perS {
			e.mu.Unlock()
			return errors.Join(pause(ctx, e.trip), errSlowDown)
		}
	}
	took := e.perCall
	if op == remotetest.Put {
		if e.there == nil {
			e.there = make(map[string]bool)
		}
		e.there[name] = true // if not yet, soon
	}
	if op == remotetest.Put || op == remotetest.Get && e.there[name] {
		took += e.perSize
		e.bytes += entrySize
	}
	if e.free.Before(now) {
		e.free = now
	}
	e.free = e.free.Add(took)
	done := e.free.Sub(now)
	e.mu.Unlock()
	return pause(ctx, done+e.trip)
}

func pause(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// entrySize is what an entry is taken to have on the way, in bytes. What is really moved is less,
// so that thousands of machines fit into one process.
const entrySize = 50_000

// scenario is one way in which a fleet starts.
type scenario struct {
	name    string
	about   string
	engines []*engine
	nodes   int
	keys    int           // that each node needs, one after the other, all the same
	cost    time.Duration // of building one
	spread  time.Duration // in which the nodes start
	hangs   bool          // the first who builds the first key never ends, and keeps its lease
	most    float64       // of what would be built without a remote, at most this part is; 0: twice each key
}

// outcome is what came of one.
type outcome struct {
	builds  int64
	bytes   int64
	took    time.Duration   // until the last node was ready
	ready   []time.Duration // of each node since its start, sorted
	counts  stats.Snapshot
	perKey  []int64 // builds
	wrong   int64   // entries that were another's
	crowded int64   // most builds of one key at one time
}

func (o *outcome) at(part float64) time.Duration {
	return o.ready[min(int(part*float64(len(o.ready))), len(o.ready)-1)]
}

// near is the store of one node: in memory, with locks, and without what the simulation does not use.
type near struct {
	*memory.Store
	store.Explainer
	store.Totals
	jobs
}

type jobs = spool.Store

func (n near) GetBlob(context.Context, store.Kind, key.Digest) ([]byte, error) {
	return nil, &store.MissError{Reason: reason.MissAbsent}
}

func (n near) CostNear(context.Context, key.Key) time.Duration { return 0 }

func (n near) PutBlob(context.Context, store.Kind, key.Digest, []byte) error { return nil }

func (n near) HasBlob(store.Kind, key.Digest, int64) bool { return false }

func (n near) GetFirst(ctx context.Context, k key.Key, _ *store.Buffer) (*store.Entry, error) {
	return n.Get(ctx, k)
}

// hangTime is how long one hangs that hangs.
const hangTime = 10 * time.Minute

// run runs a scenario. It is called in a bubble of testing/synctest.
func (sc *scenario) run(t *testing.T, sign ed25519.PrivateKey, options remote.Options) *outcome {
	start := time.Now()
	entries := make([]*store.Entry, sc.keys)
	for i := range entries {
		entries[i] = storetest.New(t, fmt.Sprint(sc.name, i), 200)
		entries[i].Artifact.Cost = sc.cost
	}
	out := &outcome{perKey: make([]int64, sc.keys), ready: make([]time.Duration, sc.nodes)}
	options.Sign = sign
	counts := new(stats.Counters)
	var fars []tiered.Far
	var all []*remotetest.Memory
	for _, e := range sc.engines {
		e.start = start
		objects := &remotetest.Memory{Fault: e.fault}
		far := tiered.Far{Name: e.name, Store: remote.New(objects, options)}
		fars = append(fars, far)
		all = append(all, objects)
	}
	building := make([]atomic.Int64, sc.keys)
	var crowded, hung atomic.Int64
	var wg sync.WaitGroup
	for n := range sc.nodes {
		wg.Go(func() {
			time.Sleep(rand.N(sc.spread + 1))
			began := time.Now()
			own := memory.New(memory.Options{})
			far := slices.Clone(fars)
			for i := range far {
				l := lease.New(all[i], lease.Options{Name: fars[i].Store.(*remote.Store).LeaseName})
				defer l.Close()
				far[i].Locker = l
			}
			s := tiered.New(near{Store: own}, tiered.Options{Far: far, Recorder: counts})
			for i, e := range entries {
				request(s, e, func() bool {
					now := building[i].Add(1)
					for was := crowded.Load(); now > was && !crowded.CompareAndSwap(was, now); was = crowded.Load() {
					}
					atomic.AddInt64(&out.perKey[i], 1)
					if sc.hangs && i == 0 && hung.Add(1) == 1 {
						return false
					}
					time.Sleep(sc.cost*9/10 + rand.N(sc.cost/5))
					building[i].Add(-1)
					return true
				}, &out.wrong)
			}
			if out.ready[n] = time.Since(began); out.ready[n] > hangTime {
				out.ready[n] = 0 // the one that hangs is not one of those who waited for it
			}
			s.Close()
		})
	}
	wg.Wait()
	out.took = time.Since(start)
	slices.Sort(out.ready)
	for _, n := range out.perKey {
		out.builds += n
	}
	for _, e := range sc.engines {
		out.bytes += e.bytes
	}
	out.counts, out.crowded = counts.Snapshot(), crowded.Load()
	return out
}
