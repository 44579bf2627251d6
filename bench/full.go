package main

import (
	"context"
	"fmt"

	"github.com/dgraph-io/ristretto/v2"
	lru "github.com/hashicorp/golang-lru/v2"
	"github.com/maypok86/otter/v2"

	"github.com/kernstash/kernstash"
	"github.com/kernstash/kernstash/key"
)

// fullPrograms is the default limit of programs in memory.
const fullPrograms = 1024

// fullRows show what it costs to make a program where each one that is made
// drives another one out.
func fullRows(s *setting) ([]row, error) {
	if s.barsOnly {
		return nil, nil
	}
	ctx := context.Background()
	next := 0
	var images []*kernstash.Image
	at := 0
	insert := func(programs int) (side, error) {
		cache, err := kernstash.Open(kernstash.Options{NoDisk: true, Mode: kernstash.ModeReadOnly, MemoryPrograms: programs})
		if err != nil {
			return nil, err
		}
		s.atEnd(func() { _ = cache.Close() })
		x := kernstash.NewContext(cache, compiler(), kernstash.ContextOptions{})
		for i := range fullPrograms {
			must(x.Program(ctx, kernstash.Request{Image: sourceImage(-1 - i)})).Release()
		}
		return func(n int) {
			for range n {
				must(x.Program(ctx, kernstash.Request{Image: images[at%len(images)]})).Release()
				at++
			}
		}, nil
	}
	full, err := insert(fullPrograms)
	if err != nil {
		return nil, err
	}
	roomy, err := insert(1 << 20)
	if err != nil {
		return nil, err
	}
	digest := func() (d key.Digest) {
		next++
		copy(d[:], fmt.Sprint(next))
		return d
	}
	tiny := otter.Must(&otter.Options[key.Digest, *value]{MaximumSize: fullPrograms})
	s.atEnd(func() { tiny.StopAllGoroutines() })
	least := must(lru.New[key.Digest, *value](fullPrograms))
	ris := must(ristretto.NewCache(&ristretto.Config[string, *value]{
		NumCounters: 10 * fullPrograms, MaxCost: fullPrograms, BufferItems: 64, IgnoreInternalCost: true,
	}))
	s.atEnd(ris.Close)
	store := func(set func(d key.Digest)) side {
		return func(n int) {
			for range n {
				set(digest())
			}
		}
	}
	const fixed = 20
	return []row{{
		name: fmt.Sprintf("a program is made and evicts one of %d / is made, nothing is evicted", fullPrograms),
		prepare: func(n int) {
			images, at = images[:0], 0
			for range 2 * n {
				next++
				images = append(images, sourceImage(next))
			}
		},
		ours: full, theirs: roomy, fixed: fixed, more: 10,
		peers: []peer{
			{"otter, Set alone", store(func(d key.Digest) { tiny.Set(d, &value{1}) })},
			{"ristretto, Set alone", store(func(d key.Digest) { ris.Set(string(d[:]), &value{1}, 1) })},
			{"golang-lru, Add alone", store(func(d key.Digest) { least.Add(d, &value{1}) })},
		},
	}}, nil
}
