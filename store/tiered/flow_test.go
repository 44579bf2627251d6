package tiered_test

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kernstash/kernstash/internal/servers"
	"github.com/kernstash/kernstash/internal/timing"
	"github.com/kernstash/kernstash/reason"
	"github.com/kernstash/kernstash/stats"
	"github.com/kernstash/kernstash/store"
	storehttp "github.com/kernstash/kernstash/store/http"
	"github.com/kernstash/kernstash/store/redis"
	"github.com/kernstash/kernstash/store/remote"
	"github.com/kernstash/kernstash/store/remote/remotetest"
	"github.com/kernstash/kernstash/store/storetest"
	"github.com/kernstash/kernstash/store/tiered"
)

const mib = 1 << 20

// line is what an object comes by.
type line struct {
	total   int // bytes
	rate    int // bytes a second
	stall   int // after so many bytes nothing comes any more; 0: never
	unknown bool
}

// carry moves an object by the line, as an engine would.
func (l line) carry(ctx context.Context) error {
	total := int64(l.total)
	if l.unknown {
		total = -1
	}
	_, err := io.Copy(io.Discard, store.Flowing(ctx, &wire{ctx: ctx, line: l}, total))
	return err
}

type wire struct {
	ctx context.Context
	line
	sent int
}

func (w *wire) Read(b []byte) (int, error) {
	if w.sent >= w.total {
		return 0, io.EOF
	}
	n := min(max(w.rate/100, 1), len(b), w.total-w.sent)
	pause := time.Duration(n) * time.Second / time.Duration(w.rate)
	if w.stall > 0 && w.sent >= w.stall {
		pause = time.Hour
	}
	select {
	case <-time.After(pause):
	case <-w.ctx.Done():
		return 0, w.ctx.Err()
	}
	w.sent += n
	return n, nil
}

// What moves at a rate that is worth it is waited for, no longer than half of what the build costs; what
// does not ends at the deadline. A remote that sends what is too large for its line is not given up, but one
// that sends nothing, or hardly anything, is.
func TestFlow(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		line
		cost time.Duration
		hit  bool
		took time.Duration
		up   bool // small entries are got from it
	}{
		"at the deadline":          {line{10 * mib, 20 * mib, 0, false}, 0, true, 500 * time.Millisecond, true},
		"large":                    {line{20 * mib, 20 * mib, 0, false}, 0, true, time.Second, true},
		"large, unknown":           {line{20 * mib, 20 * mib, 0, true}, 0, true, time.Second, true},
		"too large for the line":   {line{20 * mib, 2 * mib, 0, false}, 0, false, 500 * time.Millisecond, true},
		"endless":                  {line{1 << 40, 2 * mib, 0, true}, 0, false, 5 * time.Second, false},
		"slower than worth it":     {line{2 * mib, mib / 2, 0, false}, 0, false, 500 * time.Millisecond, true},
		"drips":                    {line{100, 1, 0, false}, 0, false, 500 * time.Millisecond, false},
		"drips faster":             {line{mib, 1000, 0, false}, 0, false, 500 * time.Millisecond, false},
		"stalls":                   {line{20 * mib, 20 * mib, 6 * mib, false}, 0, false, 800 * time.Millisecond, false},
		"cheap to build":           {line{20 * mib, 20 * mib, 0, false}, 1200 * time.Millisecond, false, 500 * time.Millisecond, true},
		"cheaper still":            {line{20 * mib, 20 * mib, 0, false}, 200 * time.Millisecond, false, 100 * time.Millisecond, true},
		"dear to build":            {line{40 * mib, 4 * mib, 0, false}, time.Minute, true, 10 * time.Second, true},
		"as dear as can be":        {line{128 * mib, 4 * mib, 0, false}, time.Hour, false, 500 * time.Millisecond, true},
		"as dear, and not told so": {line{1 << 40, 4 * mib, 0, true}, time.Hour, false, 30 * time.Second, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				f := newFar()
				m := newMachine(t, tiered.Options{Far: []tiered.Far{{Name: "far", Store: f}}})
				e, small := storetest.New(t, "large", 10), storetest.New(t, "small", 10)
				for _, e := range []*store.Entry{e, small} {
					if _, err := f.Put(t.Context(), e); err != nil {
						t.Fatal(err)
					}
				}
				f.fails(func(ctx context.Context, _ string) error { return tt.carry(ctx) })
				ctx, begin := store.WithCost(t.Context(), tt.cost), time.Now()
				_, err := m.Get(ctx, e.Key)
				if took := time.Since(begin).Round(20 * time.Millisecond); took != tt.took || (err == nil) != tt.hit {
					t.Errorf("after %v: %v; want %v, a hit: %v", took, err, tt.took, tt.hit)
				}
				f.works()
				if _, err := m.Get(t.Context(), small.Key); (err == nil) != tt.up {
					t.Errorf("a small entry: %v", err)
				}
			})
		})
	}
}

// What was too large for the line of a remote is not asked for again for some seconds, and what is as large
// is given up when the remote says how large it is: nobody waits a second time. Later it is tried again.
func TestSlowOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFar()
		m := newMachine(t, tiered.Options{Far: []tiered.Far{{Name: "far", Store: f}}})
		large := line{total: 20 * mib, rate: 2 * mib}
		f.fails(func(ctx context.Context, _ string) error { return large.carry(ctx) })
		begin := time.Now()
		for range 5 {
			miss(t, m, storetest.New(t, "first", 10).Key, reason.MissRemote)
		}
		if n := f.gets.Load(); n != 1 {
			t.Errorf("one entry is asked for %d times", n)
		}
		for i := range 100 {
			miss(t, m, storetest.New(t, strconv.Itoa(i), 10).Key, reason.MissRemote)
		}
		if took := time.Since(begin); took != 500*time.Millisecond {
			t.Errorf("all took %v", took)
		}
		m.counted(t, map[stats.Counter]int64{stats.RemoteTimeouts: 101, stats.RemoteMisses: 105, stats.RemoteSkipped: 4})

		large.total = 8 * mib // which comes within the five seconds at that rate
		for _, e := range []*store.Entry{storetest.New(t, "less", 10), storetest.New(t, "first", 10)} {
			if _, err := f.Store.Put(t.Context(), e); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := m.Get(t.Context(), storetest.New(t, "less", 10).Key); err != nil {
			t.Error(err)
		}
		time.Sleep(5 * time.Second)
		large = line{total: 20 * mib, rate: 20 * mib}
		if _, err := m.Get(t.Context(), storetest.New(t, "first", 10).Key); err != nil {
			t.Error("the line is better now:", err)
		}
	})
}

// A remote that is probed with what is too large for its line works again.
func TestProbeFlows(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFar()
		m := newMachine(t, tiered.Options{Far: []tiered.Far{{Name: "far", Store: f}}})
		f.fails(func(context.Context, string) error { return errBroken })
		miss(t, m, storetest.New(t, "large", 10).Key, reason.MissRemote)
		time.Sleep(2 * time.Second)
		f.fails(func(ctx context.Context, _ string) error { return line{total: 20 * mib, rate: 2 * mib}.carry(ctx) })
		miss(t, m, storetest.New(t, "large", 10).Key, reason.MissRemote)
		time.Sleep(600 * time.Millisecond)
		f.works()
		miss(t, m, storetest.New(t, "small", 10).Key, reason.MissAbsent)
	})
}

// A store that answers that an entry does not come in time, as an agent does of its own remotes, is asked for others.
func TestSlowAnswer(t *testing.T) {
	t.Parallel()
	f := newFar()
	m := newMachine(t, tiered.Options{Far: []tiered.Far{{Name: "agent", Store: f}}})
	stored := storetest.New(t, "stored", 10)
	if _, err := f.Put(t.Context(), stored); err != nil {
		t.Fatal(err)
	}
	f.fails(func(context.Context, string) error {
		return &store.MissError{Reason: reason.MissRemote, Cause: fmt.Errorf("the agent has none: %w", store.ErrSlow)}
	})
	for i := range 20 { // more than open the breaker
		miss(t, m, storetest.New(t, strconv.Itoa(i), 10).Key, reason.MissRemote)
	}
	f.works()
	if _, err := m.Get(t.Context(), stored.Key); err != nil {
		t.Error(err)
	}
	m.counted(t, map[stats.Counter]int64{stats.RemoteTimeouts: 20, stats.RemoteMisses: 20, stats.RemoteHits: 1})
}

// An upload that hangs is no reason not to read, and one that only takes too long is none not to upload.
func TestUploadsFlow(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		fault  func(context.Context) error
		breaks int64
	}{
		"hangs": {func(ctx context.Context) error { return hang(ctx, "") }, 1},
		"slow":  {func(ctx context.Context) error { return line{total: 20 * mib, rate: mib / 2}.carry(ctx) }, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				f := newFar()
				m := newMachine(t, tiered.Options{Far: []tiered.Far{{Name: "far", Store: f}}})
				stored := storetest.New(t, "stored", 10)
				if _, err := f.Put(t.Context(), stored); err != nil {
					t.Fatal(err)
				}
				f.fails(func(ctx context.Context, op string) error {
					if op == "put" {
						return tt.fault(ctx)
					}
					return nil
				})
				if _, err := m.Put(t.Context(), storetest.New(t, "built", 10)); err != nil {
					t.Fatal(err)
				}
				m.settle(t)
				if _, err := m.Get(t.Context(), stored.Key); err != nil {
					t.Error(err)
				}
				m.settle(t)
				m.counted(t, map[stats.Counter]int64{stats.RemoteTimeouts: 1, stats.RemoteBreaks: tt.breaks, stats.RemoteHits: 1})
			})
		})
	}
}

// An upload has a second for each MiB besides the deadline, and as much of one for what is less.
func TestUploadsHaveTime(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFar()
		m := newMachine(t, tiered.Options{Far: []tiered.Far{{Name: "far", Store: f}}})
		f.fails(func(ctx context.Context, op string) error {
			if op == "put" {
				return line{total: 900 << 10, rate: mib}.carry(ctx)
			}
			return nil
		})
		e := storetest.New(t, "built", 900<<10)
		if _, err := m.Put(t.Context(), e); err != nil {
			t.Fatal(err)
		}
		m.settle(t)
		f.works()
		if _, err := f.Get(t.Context(), e.Key); err != nil {
			t.Error(err)
		}
	})
}

// The same with a server of HTTP whose line is slow.
func TestFlowOfHTTP(t *testing.T) {
	t.Parallel()
	objects := new(remotetest.Memory)
	var pause atomic.Int64 // nanoseconds between pieces
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		b := objects.Object(strings.TrimPrefix(r.URL.Path, "/"))
		if r.Method != http.MethodGet || b == nil {
			w.WriteHeader(http.StatusNotFound)
			return
		}
		w.Header().Set("Content-Length", strconv.Itoa(len(b)))
		for piece := range slices.Chunk(b, 64<<10) {
			if _, err := w.Write(piece); err != nil {
				return
			}
			w.(http.Flusher).Flush()
			select {
			case <-time.After(time.Duration(pause.Load())):
			case <-r.Context().Done():
				return
			}
		}
	}))
	defer server.Close()
	engine, err := storehttp.Open(server.URL, storehttp.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer engine.Close()
	m := newMachine(t, tiered.Options{Far: []tiered.Far{{Name: "http", Store: remote.New(engine, remote.Options{}), Timeout: time.Second}}})
	random := rand.NewChaCha8([32]byte{byte(timing.Seed(t))})
	incompressible := func(name string, size int) *store.Entry {
		e := storetest.New(t, name, size)
		for i := range e.Artifact.Binaries {
			_, _ = random.Read(e.Artifact.Binaries[i].Data)
		}
		if res, err := remote.New(objects, remote.Options{}).Put(t.Context(), e); err != nil || res != store.Stored {
			t.Fatal(res, err)
		}
		return e
	}
	large, larger, small := incompressible("large", 16*mib), incompressible("larger", 17*mib), incompressible("small", 10)
	ctx := store.WithCost(t.Context(), time.Minute) // so a busy machine has time
	pause.Store(int64(6 * time.Millisecond))        // 10 MiB/s, so some 1.6 s
	if e, err := m.Get(ctx, large.Key); err != nil || e.From != "http" {
		t.Fatal(e, err)
	}
	pause.Store(int64(150 * time.Millisecond)) // less than half a MiB/s
	if _, err := m.Get(ctx, larger.Key); err == nil {
		t.Error("40 s of waiting, for what costs a minute to build")
	}
	if e, err := m.Get(t.Context(), small.Key); err != nil || e.From != "http" {
		t.Error(e, err)
	}
	m.settle(t)
	m.counted(t, map[stats.Counter]int64{stats.RemoteHits: 2, stats.RemoteTimeouts: 1, stats.RemoteMisses: 1})
}

// The same with a Redis, whose client tells of a reply when it has all of it.
func TestFlowOfRedis(t *testing.T) {
	t.Parallel()
	target, err := url.Parse(servers.Redis(t))
	if err != nil {
		t.Fatal(err)
	}
	var rate atomic.Int64
	limit := redis.Options{MaxSize: 4 * mib}
	near := remote.New(openRedis(t, target.String(), limit), remote.Options{})
	target.Host = servers.Throttled(t, target.Host, &rate)
	slow := remote.New(openRedis(t, target.String(), limit), remote.Options{})
	m := newMachine(t, tiered.Options{Far: []tiered.Far{{Name: "redis", Store: slow, Timeout: time.Second}}})
	random := rand.NewChaCha8([32]byte{byte(timing.Seed(t))})
	incompressible := func(name string, size int) *store.Entry {
		e := storetest.New(t, name, size)
		for i := range e.Artifact.Binaries {
			_, _ = random.Read(e.Artifact.Binaries[i].Data)
		}
		if res, err := near.Put(t.Context(), e); err != nil || res != store.Stored {
			t.Fatal(res, err)
		}
		return e
	}
	large, larger, small := incompressible("large", 3*mib), incompressible("larger", 3*mib), incompressible("small", 10)
	rate.Store(2 * mib)
	begin := time.Now()
	if e, err := m.Get(t.Context(), large.Key); err != nil || e.From != "redis" {
		t.Fatal(e, err)
	}
	if took := time.Since(begin); took < time.Second {
		t.Errorf("it took %v: the line is not slow", took)
	}
	rate.Store(mib / 4)
	if e, err := m.Get(t.Context(), larger.Key); err == nil {
		t.Error("12 s of waiting:", e)
	}
	if e, err := m.Get(t.Context(), small.Key); err != nil || e.From != "redis" {
		t.Error(e, err)
	}
	m.settle(t)
	m.counted(t, map[stats.Counter]int64{stats.RemoteHits: 2, stats.RemoteTimeouts: 1, stats.RemoteMisses: 1})
}
