package main

import (
	"context"
	"crypto/sha256"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/dgraph-io/ristretto/v2"
	lru "github.com/hashicorp/golang-lru/v2"
	"github.com/maypok86/otter/v2"
	"golang.org/x/sync/singleflight"

	"github.com/kernstash/kernstash"
	"github.com/kernstash/kernstash/key"
)

// askers is how many goroutines ask for one key at once.
const askers = 64

// buildTime is what the build of that key takes, of one CPU.
const buildTime = 20 * time.Millisecond

// work is a build that keeps a CPU busy for about buildTime.
type work struct {
	block  [1 << 14]byte
	n      int
	builds atomic.Int64
}

func newWork() *work {
	w := &work{n: 1}
	for took := time.Duration(0); took < buildTime/4; w.n *= 2 {
		start := time.Now()
		w.do()
		took = time.Since(start)
	}
	best := time.Hour
	for range 5 {
		start := time.Now()
		w.do()
		best = min(best, time.Since(start))
	}
	w.n = max(1, int(float64(w.n)*float64(buildTime)/float64(best)))
	return w
}

func (w *work) do() *value {
	w.builds.Add(1)
	var sum byte
	for range w.n {
		d := sha256.Sum256(w.block[:])
		sum |= d[0]
	}
	if sum == 0 {
		panic("digests of zeros only")
	}
	return &value{1}
}

// coalesceRows compare what many goroutines wait for that ask for a key at
// once that nobody has built.
func coalesceRows(s *setting) ([]row, error) {
	if s.barsOnly {
		return nil, nil
	}
	ctx := context.Background()
	cache, err := kernstash.Open(kernstash.Options{NoDisk: true, Mode: kernstash.ModeReadOnly})
	if err != nil {
		return nil, err
	}
	s.atEnd(func() { _ = cache.Close() })
	w := newWork()
	c := compiler()
	c.Compile = func(context.Context, *key.Recipe) ([]byte, error) {
		w.do()
		return []byte{1}, nil
	}
	x := kernstash.NewContext(cache, c, kernstash.ContextOptions{})

	next := 0
	fresh := func() (d key.Digest) {
		next++
		copy(d[:], fmt.Sprint(next))
		return d
	}
	// each runs get in all askers at once, for a fresh key, and checks how often
	// that key was built.
	each := func(builds int64, get func(d key.Digest)) side {
		return func(n int) {
			for range n {
				d := fresh()
				before := w.builds.Load()
				var all sync.WaitGroup
				for range askers {
					all.Go(func() { get(d) })
				}
				all.Wait()
				if got := w.builds.Load() - before; builds == 1 && got != 1 || got > builds {
					panic(fmt.Sprintf("%d builds of one key, want %d", got, builds))
				}
			}
		}
	}
	var once sync.Map
	return []row{{
		name: fmt.Sprintf("%d goroutines ask for one key that takes %v to build / sync.Map of sync.OnceValue", askers, buildTime),
		ours: func(n int) {
			for range n {
				next++
				img := sourceImage(next)
				each(1, func(key.Digest) { must(x.Program(ctx, kernstash.Request{Image: img})).Release() })(1)
			}
		},
		theirs: each(1, func(d key.Digest) {
			v, ok := once.Load(d)
			if !ok {
				v, _ = once.LoadOrStore(d, sync.OnceValue(w.do))
			}
			v.(func() *value)().use(true)
		}),
		peers: coalescePeers(s, w, each), most: 5, fixed: 2,
	}}, nil
}

func coalescePeers(s *setting, w *work, each func(int64, func(key.Digest)) side) []peer {
	ctx := context.Background()
	var (
		flight singleflight.Group
		stored sync.Map
	)
	tiny := otter.Must(&otter.Options[key.Digest, *value]{MaximumSize: memoryLimit})
	s.atEnd(func() { tiny.StopAllGoroutines() })
	load := otter.LoaderFunc[key.Digest, *value](func(context.Context, key.Digest) (*value, error) { return w.do(), nil })
	least := must(lru.New[key.Digest, *value](memoryLimit))
	ris := must(ristretto.NewCache(&ristretto.Config[string, *value]{
		NumCounters: 10 * memoryLimit, MaxCost: memoryLimit, BufferItems: 64, IgnoreInternalCost: true,
	}))
	s.atEnd(ris.Close)
	return []peer{
		{"singleflight + sync.Map", each(1, func(d key.Digest) {
			v, ok := stored.Load(d)
			if !ok {
				v, _, _ = flight.Do(string(d[:]), func() (any, error) {
					if v, ok := stored.Load(d); ok {
						return v, nil
					}
					v := w.do()
					stored.Store(d, v)
					return v, nil
				})
			}
			v.(*value).use(true)
		})},
		{"otter, its loader", each(1, func(d key.Digest) { must(tiny.Get(ctx, d, load)).use(true) })},
		{"golang-lru (does not coalesce)", each(askers, func(d key.Digest) {
			v, ok := least.Get(d)
			if !ok {
				v = w.do()
				least.Add(d, v)
			}
			v.use(true)
		})},
		{"ristretto (does not coalesce)", each(askers, func(d key.Digest) {
			v, ok := ris.Get(string(d[:]))
			if !ok {
				v = w.do()
				ris.Set(string(d[:]), v, 1)
			}
			v.use(true)
		})},
	}
}
