package tiered_test

import (
	"context"
	"crypto/ed25519"
	"errors"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kernstash/kernstash/key"
	"github.com/kernstash/kernstash/reason"
	"github.com/kernstash/kernstash/stats"
	"github.com/kernstash/kernstash/store"
	"github.com/kernstash/kernstash/store/remote"
	"github.com/kernstash/kernstash/store/remote/remotetest"
	"github.com/kernstash/kernstash/store/storetest"
	"github.com/kernstash/kernstash/store/tiered"
	"github.com/kernstash/kernstash/trust"
)

// hang waits for the end of the context.
func hang(ctx context.Context, _ string) error { <-ctx.Done(); return ctx.Err() }

// Rule 6: a remote that does not answer costs its deadline once, and then nothing, whatever is
// asked of it; it is asked again later, and nobody waits for that.
func TestHangsOnce(t *testing.T) {
	t.Parallel()
	for name, fault := range map[string]func(release chan struct{}) func(context.Context, string) error{
		"with its context": func(chan struct{}) func(context.Context, string) error { return hang },
		"whatever its context": func(release chan struct{}) func(context.Context, string) error {
			return func(context.Context, string) error { <-release; return errBroken }
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				release := make(chan struct{})
				f := newFar()
				f.fails(fault(release))
				m := newMachine(t, tiered.Options{Far: []tiered.Far{{Name: "far", Store: f, Locker: f}}})
				begin := time.Now()
				for i := range 200 {
					e := storetest.New(t, strconv.Itoa(i), 10)
					miss(t, m, e.Key, reason.MissRemote)
					unlock, err := m.Lock(t.Context(), e.Key, 0)
					if err != nil {
						t.Fatal(err)
					}
					if _, err := m.Put(t.Context(), e); err != nil {
						t.Fatal(err)
					}
					unlock()
				}
				if took := time.Since(begin); took != 500*time.Millisecond {
					t.Errorf("200 builds are delayed by %v, want 500ms", took)
				}
				if n := f.gets.Load() + f.puts.Load(); n != 1 {
					t.Errorf("%d calls, want 1", n)
				}
				m.settle(t)
				m.counted(t, map[stats.Counter]int64{
					stats.RemoteTimeouts: 1, stats.RemoteBreaks: 1, stats.RemoteMisses: 200,
					stats.RemoteSkipped: 199 + 200, stats.RemotePutsDropped: 200,
				})

				// Later it works again. The first to ask finds that out, and does not wait.
				time.Sleep(2 * time.Second)
				f.works()
				close(release)
				k := storetest.New(t, "later", 10).Key
				begin = time.Now()
				miss(t, m, k, reason.MissRemote)
				if took := time.Since(begin); took != 0 {
					t.Errorf("a probe delays a request by %v", took)
				}
				synctest.Wait()
				miss(t, m, storetest.New(t, "then", 10).Key, reason.MissAbsent)
				if n := f.gets.Load(); n != 3 {
					t.Errorf("%d gets, want 3", n)
				}
			})
		})
	}
}

// A remote that answers with an error at once is left alone after the first.
func TestFailsOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFar()
		f.fails(func(context.Context, string) error { return errBroken })
		m := newMachine(t, tiered.Options{Far: []tiered.Far{{Name: "far", Store: f}}})
		k := storetest.New(t, "k", 10).Key
		for range 20 {
			miss(t, m, k, reason.MissRemote)
		}
		if n := f.gets.Load(); n != 1 {
			t.Errorf("%d calls, want 1", n)
		}
		m.counted(t, map[stats.Counter]int64{stats.RemoteErrors: 1, stats.RemoteBreaks: 1, stats.RemoteSkipped: 19, stats.RemoteMisses: 20})
	})
}

// While it does not answer, it is asked more and more seldom.
func TestBacksOff(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFar()
		f.fails(hang)
		m := newMachine(t, tiered.Options{Far: []tiered.Far{{Name: "far", Store: f}}, AbsentFor: 1})
		k := storetest.New(t, "k", 10).Key
		var calls []int64
		for _, until := range []int{4, 60, 600, 1200} { // seconds
			for begin := time.Now(); time.Since(begin) < time.Duration(until)*time.Second; time.Sleep(100 * time.Millisecond) {
				miss(t, m, k, reason.MissRemote)
			}
			calls = append(calls, f.gets.Swap(0))
		}
		// 1 + pauses of 1 and 2 s; then of 4, 8, 16, 32; then of a minute, each with a quarter of jitter.
		if calls[0] < 2 || calls[0] > 4 || calls[1] < 3 || calls[1] > 6 || calls[2] < 7 || calls[2] > 14 || calls[3] < 15 || calls[3] > 27 {
			t.Errorf("calls in 4, 60, 600 and 1200 s: %v", calls)
		}
	})
}

// Machines for which a remote failed at one moment do not ask it again at one moment.
func TestProbesAreApart(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const n = 20
		var machines []*machine
		var probed [n]atomic.Int64 // nanoseconds after the start
		begin := time.Now()
		for i := range n {
			f := newFar()
			f.fails(func(context.Context, string) error {
				if after := time.Since(begin); after > 0 {
					probed[i].CompareAndSwap(0, int64(after))
				}
				return errBroken
			})
			machines = append(machines, newMachine(t, tiered.Options{Far: []tiered.Far{{Name: "far", Store: f}}}))
		}
		k := storetest.New(t, "k", 10).Key
		for ; time.Since(begin) < 2*time.Second; time.Sleep(10 * time.Millisecond) {
			for _, m := range machines {
				miss(t, m, k, reason.MissRemote)
			}
			synctest.Wait()
		}
		moments := make(map[int64]bool)
		for i := range probed {
			at := probed[i].Load()
			if at < int64(700*time.Millisecond) || at > int64(1300*time.Millisecond) {
				t.Errorf("a probe after %v, want about a second", time.Duration(at))
			}
			moments[at] = true
		}
		if len(moments) < n/3 {
			t.Errorf("%d machines probe at %d moments", n, len(moments))
		}
	})
}

// A short deadline that is passed once says little: together they cost the timeout at most.
func TestShortDeadlines(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFar()
		f.fails(hang)
		m := newMachine(t, tiered.Options{Far: []tiered.Far{{Name: "far", Store: f}}})
		begin := time.Now()
		ctx := store.WithCost(t.Context(), 200*time.Millisecond) // half of which is the deadline
		for i := range 50 {
			if _, err := m.Get(ctx, storetest.New(t, strconv.Itoa(i), 10).Key); !errors.Is(err, store.ErrNotFound) {
				t.Fatal(err)
			}
		}
		if took := time.Since(begin); took != 500*time.Millisecond || f.gets.Load() != 5 {
			t.Errorf("%d calls, %v; want 5 of 100ms", f.gets.Load(), took)
		}
	})
}

// What a build costs is told by the same build for another device, where there are remotes to ask.
func TestCostIsKnown(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFar()
		f.fails(hang)
		e, other := storetest.New(t, "e", 10), storetest.New(t, "e", 10)
		other.Recipe.Device.Driver = "the one before"
		other.Key, other.Artifact.Cost = other.Recipe.Key(), 300*time.Millisecond
		for name, tt := range map[string]struct {
			put       *store.Entry
			cost      time.Duration // that is known before
			onMachine bool
			want      time.Duration
		}{
			"nothing is known":      {nil, 0, false, 500 * time.Millisecond},
			"another driver":        {other, 0, false, 150 * time.Millisecond},
			"better known":          {other, 100 * time.Millisecond, false, 50 * time.Millisecond},
			"another program":       {storetest.New(t, "another", 10), 0, false, 500 * time.Millisecond},
			"it is on this machine": {other, 0, true, 500 * time.Millisecond},
		} {
			m := newMachine(t, tiered.Options{Far: []tiered.Far{{Name: "far", Store: f, Locker: f, NoBackfill: tt.onMachine}}})
			if tt.put != nil {
				if _, err := m.near.Put(t.Context(), tt.put); err != nil {
					t.Fatal(err)
				}
			}
			ctx := t.Context()
			if tt.cost > 0 {
				ctx = store.WithCost(ctx, tt.cost)
			}
			begin := time.Now()
			if _, err := m.Get(ctx, e.Key); !errors.Is(err, store.ErrNotFound) {
				t.Fatal(err)
			}
			if took := time.Since(begin); took != tt.want {
				t.Errorf("%s: the deadline was %v, want %v", name, took, tt.want)
			}
		}
		// Leases are renewed, and waited for, as long as that says.
		f.works()
		m := newMachine(t, tiered.Options{Far: []tiered.Far{{Name: "far", Store: f, Locker: f}}})
		if _, err := m.near.Put(t.Context(), other); err != nil {
			t.Fatal(err)
		}
		unlock, err := m.Lock(t.Context(), e.Key, 0)
		if err != nil {
			t.Fatal(err)
		}
		unlock()
		if got := time.Duration(f.cost.Load()); got != 300*time.Millisecond {
			t.Errorf("the lease is of a build of %v", got)
		}
	})
}

// A remote that refuses what is put can be read still, and no lease is taken for what cannot be
// put there.
func TestRefusesWrites(t *testing.T) {
	t.Parallel()
	f := newFar()
	stored := storetest.New(t, "stored", 10)
	if _, err := f.Put(t.Context(), stored); err != nil {
		t.Fatal(err)
	}
	f.puts.Store(0)
	f.fails(func(_ context.Context, op string) error {
		if op == "put" {
			return errBroken
		}
		return nil
	})
	m := newMachine(t, tiered.Options{Far: []tiered.Far{{Name: "far", Store: f, Locker: f}}})
	for i := range 5 {
		e := storetest.New(t, strconv.Itoa(i), 10)
		miss(t, m, e.Key, reason.MissAbsent)
		unlock, err := m.Lock(t.Context(), e.Key, 0)
		if err != nil {
			t.Fatal(err)
		}
		if res, err := m.Put(t.Context(), e); err != nil || res != store.Stored {
			t.Fatal(res, err)
		}
		unlock()
		m.settle(t)
	}
	if e, err := m.Get(t.Context(), stored.Key); err != nil || e.From != "far" {
		t.Error(e, err)
	}
	if n := f.puts.Load(); n != 1 {
		t.Errorf("%d puts, want 1", n)
	}
	m.counted(t, map[stats.Counter]int64{
		stats.RemoteErrors: 1, stats.RemoteBreaks: 1, stats.RemoteSkipped: 4, stats.RemotePutsDropped: 4, stats.RemoteMisses: 5,
		stats.RemoteHits: 1, stats.LeasesWon: 1,
	})
}

// What is wrong with the objects of a remote is a miss, with a reason, and reaches nothing near; the
// remote is asked for others.
func TestWrongObjects(t *testing.T) {
	t.Parallel()
	public, private, _ := ed25519.GenerateKey(nil)
	trusted := trust.Of(public)
	_, stranger, _ := ed25519.GenerateKey(nil)
	swap := func(m *remotetest.Memory, a, b string) { m.Set(a, m.Object(b)) }
	for name, tt := range map[string]struct {
		sign ed25519.PrivateKey
		harm func(m *remotetest.Memory, name, other string)
		want reason.Reason
	}{
		"good":      {private, func(*remotetest.Memory, string, string) {}, 0},
		"unsigned":  {nil, func(*remotetest.Memory, string, string) {}, reason.MissUntrusted},
		"stranger":  {stranger, func(*remotetest.Memory, string, string) {}, reason.MissUntrusted},
		"swapped":   {private, swap, reason.MissUntrusted},
		"truncated": {private, func(m *remotetest.Memory, n, _ string) { b := m.Object(n); m.Set(n, b[:len(b)-1]) }, reason.MissTruncated},
		"empty":     {private, func(m *remotetest.Memory, n, _ string) { m.Set(n, nil) }, reason.MissTruncated},
		"foreign": {private, func(m *remotetest.Memory, n, _ string) {
			m.Set(n, []byte("<html>404 but 200, and long enough to hold a head of some bytes or other, which it has not</html>"))
		}, reason.MissForeign},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			objects := new(remotetest.Memory)
			writer := remote.New(objects, remote.Options{Sign: tt.sign})
			e, other := storetest.New(t, "e", 1000), storetest.New(t, "other", 1000)
			for _, e := range []*store.Entry{e, other} {
				if res, err := writer.Put(t.Context(), e); err != nil || res != store.Stored {
					t.Fatal(res, err)
				}
			}
			tt.harm(objects, writer.Name(e.Key), writer.Name(other.Key))
			m := newMachine(t, tiered.Options{Far: []tiered.Far{{Name: "far", Store: remote.New(objects, remote.Options{Trust: trusted})}}})
			if tt.want == 0 {
				if got, err := m.Get(t.Context(), e.Key); err != nil || got.From != "far" {
					t.Fatal(got, err)
				}
				m.settle(t)
				if _, err := m.near.Get(t.Context(), e.Key); err != nil {
					t.Errorf("it is not near: %v", err)
				}
				return
			}
			for range 2 {
				miss(t, m, e.Key, tt.want)
			}
			m.settle(t)
			miss(t, m.near, e.Key, reason.MissAbsent)
			m.counted(t, map[stats.Counter]int64{stats.RemoteMisses: 2})
		})
	}
}

// A remote that answers with another's entry, or with none, is out of order.
func TestLies(t *testing.T) {
	t.Parallel()
	for name, answer := range map[string]*store.Entry{"another": storetest.New(t, "other", 10), "none": nil, "nothing": {}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := newMachine(t, tiered.Options{Far: []tiered.Far{{Name: "far", Store: liar{newFar(), answer}}}})
			k := storetest.New(t, "k", 10).Key
			for range 2 {
				miss(t, m, k, reason.MissRemote)
			}
			m.settle(t)
			miss(t, m.near, k, reason.MissAbsent)
			m.counted(t, map[stats.Counter]int64{stats.RemoteErrors: 1, stats.RemoteBreaks: 1, stats.RemoteSkipped: 1, stats.RemoteMisses: 2})
		})
	}
}

type liar struct {
	*far
	answer *store.Entry
}

func (l liar) Fetch(context.Context, key.Key) (*store.Entry, error) { return l.answer, nil }

// Rule 4: that an entry is not there is remembered for seconds, and that a remote failed is not that.
func TestAbsent(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFar()
		m := newMachine(t, tiered.Options{Far: []tiered.Far{{Name: "far", Store: f}}})
		e := storetest.New(t, "e", 10)
		for range 3 {
			miss(t, m, e.Key, reason.MissAbsent)
		}
		if n := f.gets.Load(); n != 1 {
			t.Errorf("%d calls, want 1", n)
		}
		if _, err := f.Put(t.Context(), e); err != nil {
			t.Fatal(err)
		}
		time.Sleep(5 * time.Second)
		if _, err := m.Get(t.Context(), e.Key); err != nil {
			t.Errorf("after seconds: %v", err)
		}
		// Errors.
		f.fails(func(context.Context, string) error { return errBroken })
		other := storetest.New(t, "other", 10)
		miss(t, m, other.Key, reason.MissRemote)
		f.works()
		time.Sleep(1300 * time.Millisecond) // the breaker's pause, and less than is remembered
		miss(t, m, other.Key, reason.MissRemote)
		synctest.Wait()
		before := f.gets.Load()
		third := storetest.New(t, "third", 10)
		if _, err := f.Put(t.Context(), third); err != nil {
			t.Fatal(err)
		}
		if _, err := m.Get(t.Context(), third.Key); err != nil || f.gets.Load() != before+1 {
			t.Error("it works again and is not asked", err)
		}
	})
}

// What is absent is remembered of some thousands at most: who asks for more asks again, however long it
// is remembered.
func TestAbsentIsBounded(t *testing.T) {
	t.Parallel()
	f := newFar()
	m := newMachine(t, tiered.Options{Far: []tiered.Far{{Name: "far", Store: f, Timeout: time.Minute}}, AbsentFor: time.Hour})
	const many = 5000
	var keys []key.Key
	for i := range many {
		k := key.Key{Sum: key.Digest{1, byte(i), byte(i >> 8)}}
		keys = append(keys, k, k)
	}
	for _, k := range keys {
		miss(t, m, k, reason.MissAbsent)
	}
	if n := f.gets.Load(); n != many {
		t.Errorf("%d calls for %d keys, each twice in a row", n, many)
	}
	for _, k := range keys {
		miss(t, m, k, reason.MissAbsent)
	}
	if n := f.gets.Load(); n < many+many/10 {
		t.Errorf("%d calls: of %d keys each is remembered", n, many)
	}
}

// Who waits for one entry shares one call, and each has a copy.
func TestOneCall(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFar()
		e := storetest.New(t, "e", 1000)
		if _, err := f.Put(t.Context(), e); err != nil {
			t.Fatal(err)
		}
		f.fails(func(context.Context, string) error { time.Sleep(100 * time.Millisecond); return nil })
		m := newMachine(t, tiered.Options{Far: []tiered.Far{{Name: "far", Store: f}}})
		var all sync.WaitGroup
		for i := range 50 {
			all.Go(func() {
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				if i%5 == 0 { // the first one among them
					time.AfterFunc(10*time.Millisecond, cancel)
				}
				got, err := m.Get(ctx, e.Key)
				if i%5 == 0 {
					if !errors.Is(err, context.Canceled) || !errors.Is(err, store.ErrNotFound) {
						t.Errorf("a caller that gave up: %v", err)
					}
					return
				}
				if err != nil || got.Artifact.Binaries[0].Data[999] != e.Artifact.Binaries[0].Data[999] {
					t.Errorf("get: %v", err)
					return
				}
				clear(got.Artifact.Binaries[0].Data)
			})
		}
		all.Wait()
		if n := f.gets.Load(); n != 1 {
			t.Errorf("%d calls, want 1", n)
		}
	})
}

// Rule 5: what waits to be uploaded is bounded, and the oldest goes; Close goes on for two seconds.
func TestQueue(t *testing.T) {
	t.Parallel()
	for name, o := range map[string]tiered.Options{"number": {MaxQueued: 3}, "bytes": {MaxQueueBytes: 40_000}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				f := newFar()
				gate := make(chan struct{})
				f.fails(func(ctx context.Context, op string) error {
					if op == "put" {
						select {
						case <-gate:
						case <-ctx.Done():
						}
					}
					return ctx.Err()
				})
				o.Far = []tiered.Far{{Name: "far", Store: f, Timeout: time.Hour}}
				m := newMachine(t, o)
				put := func(seed string) *store.Entry {
					e := storetest.New(t, seed, 12_000)
					begin := time.Now()
					if res, err := m.Put(t.Context(), e); err != nil || res != store.Stored || time.Since(begin) != 0 {
						t.Fatal(res, err, time.Since(begin))
					}
					return e
				}
				put("under way")
				synctest.Wait()
				var entries []*store.Entry
				for i := range 10 {
					entries = append(entries, put(strconv.Itoa(i)))
				}
				close(gate)
				m.settle(t)
				for i, e := range entries {
					if _, err := f.Store.Get(t.Context(), e.Key); (err == nil) != (i >= 7) {
						t.Errorf("entry %d: %v; want the last three", i, err)
					}
				}
				m.counted(t, map[stats.Counter]int64{stats.RemotePutsDropped: 7})
			})
		})
	}
}

func TestCloseIsBounded(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFar()
		f.fails(hang)
		m := newMachine(t, tiered.Options{Far: []tiered.Far{{Name: "far", Store: f, Timeout: time.Hour}}})
		for i := range 5 {
			if _, err := m.Put(t.Context(), storetest.New(t, strconv.Itoa(i), 10)); err != nil {
				t.Fatal(err)
			}
		}
		begin := time.Now()
		m.Close()
		if took := time.Since(begin); took != 2*time.Second {
			t.Errorf("Close takes %v, want 2s", took)
		}
		m.counted(t, map[stats.Counter]int64{stats.RemotePutsDropped: 4})
		// What comes later is near, and calls nobody.
		e := storetest.New(t, "later", 10)
		if _, err := m.Put(t.Context(), e); err != nil {
			t.Error(err)
		}
		if _, err := m.Get(t.Context(), e.Key); err != nil {
			t.Error(err)
		}
		miss(t, m, storetest.New(t, "never", 10).Key, reason.MissAbsent)
		unlock, err := m.Lock(t.Context(), e.Key, 0)
		if err != nil {
			t.Fatal(err)
		}
		unlock()
		if f.puts.Load() != 1 || f.gets.Load() != 0 {
			t.Errorf("%d puts, %d gets", f.puts.Load(), f.gets.Load())
		}
	})
}

// What is larger by itself than all that may wait is uploaded all the same, and kept near.
func TestLargerThanTheQueue(t *testing.T) {
	t.Parallel()
	f := newFar()
	o := tiered.Options{Far: []tiered.Far{{Name: "far", Store: f, Timeout: time.Minute}}, MaxQueueBytes: 1000}
	a, b := newMachine(t, o), newMachine(t, o)
	e := storetest.New(t, "e", 5000)
	if _, err := a.Put(t.Context(), e); err != nil {
		t.Fatal(err)
	}
	a.settle(t)
	a.counted(t, nil)
	if got, err := b.Get(t.Context(), e.Key); err != nil || got.From != "far" {
		t.Fatal(got, err)
	}
	b.settle(t)
	if _, err := b.near.Get(t.Context(), e.Key); err != nil {
		t.Errorf("it is not near: %v", err)
	}
}

// Close uploads what it can, and what comes of that is not lost.
func TestCloseUploads(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFar()
		f.fails(func(context.Context, string) error { time.Sleep(400 * time.Millisecond); return nil })
		m := newMachine(t, tiered.Options{Far: []tiered.Far{{Name: "far", Store: f}}})
		var all []*store.Entry
		for i := range 4 {
			all = append(all, storetest.New(t, strconv.Itoa(i), 10))
			if _, err := m.Put(t.Context(), all[i]); err != nil {
				t.Fatal(err)
			}
		}
		begin := time.Now()
		m.Close()
		if took := time.Since(begin); took != 1600*time.Millisecond {
			t.Errorf("Close takes %v, want 1.6s", took)
		}
		for i, e := range all {
			if _, err := f.Store.Get(t.Context(), e.Key); err != nil {
				t.Errorf("entry %d: %v", i, err)
			}
		}
	})
}

// Where it is bounded and read-only, a far store gets less.
func TestLimitsOfFar(t *testing.T) {
	t.Parallel()
	small, large, read, own := newFar(), newFar(), newFar(), newFar()
	m := newMachine(t, tiered.Options{Far: []tiered.Far{
		{Name: "node", Store: own, ReadOnly: true, NoBackfill: true},
		{Name: "small", Store: small, MaxSize: 1000},
		{Name: "read", Store: read, Locker: read, ReadOnly: true},
		{Name: "large", Store: large},
	}})
	for _, size := range []int{1000, 1001} {
		e := storetest.New(t, strconv.Itoa(size), size)
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
	if a, b, c := small.puts.Load(), read.puts.Load(), large.puts.Load(); a != 1 || b != 0 || c != 2 {
		t.Errorf("puts %d, %d and %d; want 1, 0 and 2", a, b, c)
	}
	m.counted(t, nil) // no lease where nothing is put
	if won := m.counts.Snapshot()[stats.LeasesWon]; won != 0 {
		t.Errorf("%d leases of a store that is not written", won)
	}

	// What the last one has the nearer ones get, if they may.
	e := storetest.New(t, "e", 500)
	if _, err := large.Put(t.Context(), e); err != nil {
		t.Fatal(err)
	}
	if got, err := m.Get(t.Context(), e.Key); err != nil || got.From != "large" {
		t.Fatal(got, err)
	}
	m.settle(t)
	_, atNear := m.near.Get(t.Context(), e.Key)
	_, atSmall := small.Store.Get(t.Context(), e.Key)
	if atNear != nil || atSmall != nil || read.puts.Load() != 0 || own.puts.Load() != 0 {
		t.Errorf("backfill: near %v, small %v, %d and %d others", atNear, atSmall, read.puts.Load(), own.puts.Load())
	}

	// What the node has stays there.
	e = storetest.New(t, "of the node", 500)
	if _, err := own.Put(t.Context(), e); err != nil {
		t.Fatal(err)
	}
	if got, err := m.Get(t.Context(), e.Key); err != nil || got.From != "node" {
		t.Fatal(got, err)
	}
	m.settle(t)
	miss(t, m.near, e.Key, reason.MissAbsent)
}

// A far entry that the driver refuses goes everywhere, and does not come back.
func TestDelete(t *testing.T) {
	t.Parallel()
	f := newFar()
	e := storetest.New(t, "e", 10)
	if _, err := f.Put(t.Context(), e); err != nil {
		t.Fatal(err)
	}
	m := newMachine(t, tiered.Options{Far: []tiered.Far{{Name: "far", Store: f}}})
	for range 20 {
		if _, err := f.Store.Put(t.Context(), e); err != nil {
			t.Fatal(err)
		}
		time.Sleep(0)
		_, _ = m.Get(t.Context(), e.Key)
		if err := m.Delete(t.Context(), e.Key); err != nil {
			t.Fatal(err)
		}
		m.settle(t)
		miss(t, m.near, e.Key, reason.MissAbsent)
		miss(t, f.Store, e.Key, reason.MissAbsent)
	}
}

// Callers of all kinds, and a remote that is now this and now that, under the race detector.
func TestRandomFaults(t *testing.T) {
	t.Parallel()
	f := newFar()
	var n atomic.Int64
	f.fails(func(ctx context.Context, op string) error {
		switch n.Add(1) % 7 {
		case 0:
			return errBroken
		case 1:
			return hang(ctx, op)
		}
		return nil
	})
	far := []tiered.Far{{Name: "far", Store: f, Locker: f, Timeout: 5 * time.Millisecond}}
	machines := []*machine{newMachine(t, tiered.Options{Far: far, AbsentFor: 1}), newMachine(t, tiered.Options{Far: far, MaxQueued: 2})}
	var all sync.WaitGroup
	for i := range 32 {
		all.Go(func() {
			m := machines[i%2]
			for j := range 20 {
				seed := strconv.Itoa((i + j) % 10)
				e := storetest.New(t, seed, 500)
				unlock, err := m.Lock(t.Context(), e.Key, time.Duration(j%3)*time.Millisecond)
				if got, err := m.Get(t.Context(), e.Key); err == nil && string(got.Artifact.Binaries[0].Data) != string(e.Artifact.Binaries[0].Data) {
					t.Errorf("wrong code of %s", seed)
				}
				if _, err := m.Put(t.Context(), e); err != nil {
					t.Error(err)
				}
				if j%5 == 0 {
					if err := m.Delete(t.Context(), e.Key); err != nil {
						t.Error(err)
					}
				}
				if err == nil {
					unlock()
				}
			}
		})
	}
	all.Wait()
}
