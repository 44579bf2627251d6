package evict

import (
	"errors"
	"io/fs"
	"log/slog"
	"regexp"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kernstash/kernstash/store"
)

// evictor returns an evictor of a root, at a second, with a limit.
func (r *fakeRoot) evictor(now, limit int64) *Evictor {
	return New(Options{
		MaxSize: limit, Now: func() time.Time { return time.Unix(now, 0) }, Trace: slog.New(slog.DiscardHandler),
		Open:    func() (Root, *Account, func(), error) { return r, r.account, func() {}, nil },
		Evicted: func(*Victim, Usage) {},
	})
}

func (e *Evictor) wake() {
	e.Wake()
	e.Wait()
}

// TestTrimsBeforeItCounts: over the limit room is made first, by a look at as little as
// possible, and then what was not counted for long is counted; by as many runs as it takes.
func TestTrimsBeforeItCounts(t *testing.T) {
	t.Parallel()
	const later = 2*recountAfter + 1
	for _, test := range []struct {
		entries, limit int
		want           string
	}{
		{2000, 2000, "lock L, shards, lock L, shards, lock 8, shards"}, // a quarter of a third is less than an eighth
		{900, 899, "lock 0, shards, lock 8"},                           // all are counted by then
		{900, 1000, "lock 8, shards"},
	} {
		r := newRoot(t)
		r.putDistinct(test.entries)
		r.evictor(later, int64(test.limit)*size).wake()
		got := joined(r)
		if test.entries > 1024 {
			got = regexp.MustCompile("lock [0-7]").ReplaceAllString(got, "lock L")
		}
		total, err := r.account.Total()
		if got != test.want || err != nil || !total.Known || total.Counted < later-1 || total.Bytes > int64(test.limit)*size {
			t.Errorf("%d entries under a limit of %d: %s; %+v, %v", test.entries, test.limit, got, total, err)
		}
		r.wantAccount()
	}
}

// TestCountsOfOthersCount: what another one counted while one waited is not counted again.
func TestCountsOfOthersCount(t *testing.T) {
	t.Parallel()
	const later = recountAfter + 100
	r := newRoot(t)
	r.putDistinct(100)
	trim := r.trim(later, 0, 0)
	trim.hurry = bg
	r.evictor(later, 0).wake()
	r.events = nil
	trim.Books.l[Shared].counted = later // or it is counted first, and the account read
	if err := trim.recount(bg); err != nil || joined(r) != "lock 8" {
		t.Errorf("%s; %v", joined(r), err)
	}
}

// TestOthersOfAllShards: what is known of other versions' bytes does not change with what
// the last run looked at.
func TestOthersOfAllShards(t *testing.T) {
	t.Parallel()
	const n = 2000
	r := newRoot(t)
	r.putDistinct(n)
	e := r.evictor(recountAfter+100, n*size)
	for shard := range r.entries {
		for i := range r.entries[shard] {
			v := &r.entries[shard][i]
			v.Other = v.Used%(2*1e9) == 0
		}
	}
	e.wake()
	if got := e.Others(); got != n/2*size {
		t.Errorf("%d bytes, want %d", got, n/2*size)
	}
	r.events = nil
	r.putDistinct(200)
	e.wake()
	if got := e.Others(); got != n/2*size || len(r.events) == 0 {
		t.Errorf("%d bytes after %q, want %d", got, joined(r), n/2*size)
	}
}

// TestHighWater by hand: up to 1,023 entries the limit; then a sixteenth less, or an eighth
// where that is what 512 entries take, or what they take where that is between.
func TestHighWater(t *testing.T) {
	t.Parallel()
	const limit = 16 << 20
	e := New(Options{MaxSize: limit})
	for entries, want := range map[int64]int64{
		0: limit, 1023: limit, 1024: limit / 8 * 7, 4096: limit / 8 * 7, 16 << 10: limit / 16 * 15,
		6 << 10: limit - 2730*512, // a twelfth: 2,730 bytes an entry
	} {
		if got := e.highWater(entries); got != want {
			t.Errorf("%d entries: %d, want %d", entries, got, want)
		}
	}
}

// TestPauses: an evictor rests a little after others were at it, twice as long each time that they
// still are, longer after it could free nothing, and not after it made room.
func TestPauses(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRoot(t)
		r.putDistinct(20)
		e := r.evictor(100, 15*size)
		runs := func(after time.Duration) bool {
			time.Sleep(after)
			r.events = nil
			e.wake()
			return len(r.events) > 0
		}
		const ms = time.Millisecond
		others := func(pauses ...time.Duration) {
			t.Helper()
			r.locked[0] = true
			if !runs(0) || runs(0) {
				t.Error("it does not rest where others evict")
			}
			for _, pause := range pauses {
				if runs(pause-1) || !runs(1) {
					t.Errorf("others evict: it does not rest for %v", pause)
				}
			}
			delete(r.locked, 0)
		}
		others(40*ms, 80*ms, 160*ms, 320*ms, 640*ms, time.Second, time.Second)
		if !runs(time.Second) || len(r.left()) != 10 {
			t.Errorf("%d entries are left, want 10", len(r.left()))
		}
		r.putDistinct(10)
		others(40 * ms)
		if !runs(80*ms) || len(r.left()) != 10 {
			t.Errorf("%d entries are left, want 10", len(r.left()))
		}
		e.o.Open = func() (Root, *Account, func(), error) {
			r.event("open", 0)
			return nil, nil, nil, fs.ErrNotExist
		}
		if !runs(0) || runs(futilePause-1) || !runs(1) {
			t.Error("it does not rest, or too long, where it can do nothing")
		}
	})
}

// TestReserve: there is room until the limit is passed, and who was refused a moment ago is
// told so without a look at the account.
func TestReserve(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRoot(t)
		e := r.evictor(100, 3*size)
		e.o.Open = func() (Root, *Account, func(), error) { return nil, nil, nil, fs.ErrNotExist }
		for n := range int64(4) {
			total, err := e.Reserve(r.account)
			if err != nil || total == nil || total.Bytes != n*size || total.Entries != n {
				t.Errorf("%d entries: %+v, %v", n, total, err)
			}
			r.putDistinct(1)
		}
		if _, err := e.Reserve(r.account); !errors.Is(err, store.ErrDropped) {
			t.Errorf("above the limit: %v", err)
		}
	})
}

// TestReserveAllocatesNothing: it is asked at every put.
func TestReserveAllocatesNothing(t *testing.T) {
	a := newAccount(t)
	if n := testing.AllocsPerRun(100, func() {
		if total, err := a.Total(); err != nil || !total.Known {
			t.Error(total, err)
		}
	}); n > 0 {
		t.Errorf("%v allocations", n)
	}
}

func BenchmarkTotal(b *testing.B) {
	a := newAccount(b)
	for b.Loop() {
		if _, err := a.Total(); err != nil {
			b.Fatal(err)
		}
	}
}
