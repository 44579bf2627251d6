package main

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/puzpuzpuz/xsync/v4"

	"github.com/kernstash/kernstash"
	"github.com/kernstash/kernstash/key"
)

type (
	memory   = kernstash.Context[[]byte, struct{}]
	prepared = kernstash.Prepared[[]byte, struct{}]
)

// compiler makes its output of the source at once.
func compiler() kernstash.Compiler {
	return kernstash.Compiler{
		Device:  key.Device{API: "bench", Name: "none"},
		Compile: func(_ context.Context, r *key.Recipe) ([]byte, error) { return r.Image.Units()[0].Code, nil },
	}
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

func sourceImage(i int) *kernstash.Image {
	return must(kernstash.NewImage(key.Opaque, fmt.Appendf(nil, "kernel void k%d() {}", i)))
}

// spread runs op n times on g goroutines.
func spread(n, g int, op func(i int)) {
	if g == 1 {
		for i := range n {
			op(i)
		}
		return
	}
	var all sync.WaitGroup
	for w := range g {
		all.Go(func() {
			for i := w; i < n; i += g {
				op(i)
			}
		})
	}
	all.Wait()
}

// memoryKeys is how many programs are in memory, fewer than its limit.
const memoryKeys = 4096

// memoryLimit is that of our cache and of every peer that has one.
const memoryLimit = 5000

// memoryRows compare a hit of the memory tier with a bare hit of the map that
// is known for the fastest ones, and with caches.
func memoryRows(s *setting) ([]row, error) {
	cache, err := kernstash.Open(kernstash.Options{NoDisk: true, Mode: kernstash.ModeReadOnly, MemoryPrograms: memoryLimit})
	if err != nil {
		return nil, err
	}
	s.atEnd(func() { _ = cache.Close() })
	ctx := context.Background()
	x := kernstash.NewContext(cache, compiler(), kernstash.ContextOptions{})
	requests := make([]*prepared, memoryKeys)
	bare := xsync.NewMap[key.Digest, *value]()
	digests := make([]key.Digest, memoryKeys)
	for i := range requests {
		img := sourceImage(i)
		requests[i] = must(x.Prepare(kernstash.Request{Image: img, CompileOptions: "-DN=4"}))
		must(requests[i].Program(ctx)).Release()
		digests[i] = img.Digest()
		bare.Store(digests[i], &value{1})
	}
	hit := func(keys, g int) side {
		return func(n int) {
			spread(n, g, func(i int) {
				p, err := requests[i&(keys-1)].Program(ctx)
				if err != nil {
					panic(err)
				}
				if _, err := p.Native(0); err != nil {
					panic(err)
				}
				p.Release()
			})
		}
	}
	floor := func(keys, g int) side {
		return func(n int) {
			spread(n, g, func(i int) {
				v, ok := bare.Load(digests[i&(keys-1)])
				v.use(ok)
			})
		}
	}
	var others []memoryPeer
	if !s.barsOnly {
		if others, err = memoryPeers(s, digests); err != nil {
			return nil, err
		}
	}
	var rows []row
	for _, keys := range []int{1, memoryKeys} {
		for _, g := range []int{1, 8} {
			r := row{
				name: fmt.Sprintf("memory hit, key at hand: %s, %s / bare xsync", plural(keys, "key"), plural(g, "goroutine")),
				ours: hit(keys, g), theirs: floor(keys, g), bar: bar{factor: 2.5}, noAllocs: g == 1,
			}
			for _, p := range others {
				op := p.hit(keys - 1)
				r.peers = append(r.peers, peer{p.name, func(n int) { spread(n, g, op) }})
			}
			rows = append(rows, r)
		}
		rows = append(rows, row{
			name: fmt.Sprintf("memory hit, %s: 8 goroutines together / one", plural(keys, "key")),
			ours: hit(keys, 8), theirs: hit(keys, 1), bar: bar{rate: 0.9},
		})
	}
	return append(rows, fieldsRow(x)), nil
}

func fieldsRow(x *memory) row {
	ctx := context.Background()
	live := kernstash.Request{
		Image: sourceImage(1), CompileOptions: "-DN=4",
		Constants: []key.SpecConstant{key.Uint32(1, 2), key.Uint32(3, 4)},
	}
	must(x.Program(ctx, live)).Release()
	return row{
		name: "memory hit from the request's fields, live image",
		ours: func(n int) {
			for range n {
				p, err := x.Program(ctx, live)
				if err != nil {
					panic(err)
				}
				p.Release()
			}
		},
		bar: bar{extra: time.Microsecond}, noAllocs: true,
	}
}
