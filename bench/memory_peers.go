package main

import (
	"sync"

	"github.com/dgraph-io/ristretto/v2"
	lru "github.com/hashicorp/golang-lru/v2"
	"github.com/maypok86/otter/v2"

	"github.com/kernstash/kernstash/key"
)

// value is what peers hold in the place of a program.
type value struct{ n int }

// use looks at a value, as whoever asked for it would.
func (v *value) use(found bool) {
	if !found || v.n != 1 {
		panic("a value that was stored is missing")
	}
}

// memoryPeer is another cache or map, filled with the same keys. Keys are at
// hand in the form that the peer takes fastest, and its hit hands out a value
// whose life nobody counts: what is evicted while in use is not its business.
type memoryPeer struct {
	name string
	hit  func(mask int) func(i int) // one hit of key i & mask
}

func memoryPeers(s *setting, digests []key.Digest) ([]memoryPeer, error) {
	var (
		boxed = make([]any, len(digests)) // else each call would box its key
		texts = make([]string, len(digests))
		std   sync.Map
	)
	least, err := lru.New[key.Digest, *value](memoryLimit)
	if err != nil {
		return nil, err
	}
	tiny, err := otter.New(&otter.Options[key.Digest, *value]{MaximumSize: memoryLimit})
	if err != nil {
		return nil, err
	}
	s.atEnd(func() { tiny.StopAllGoroutines() })
	ris, err := ristretto.NewCache(&ristretto.Config[string, *value]{
		NumCounters: 10 * memoryLimit, MaxCost: memoryLimit, BufferItems: 64, IgnoreInternalCost: true,
	})
	if err != nil {
		return nil, err
	}
	s.atEnd(ris.Close)
	for i, d := range digests {
		v := &value{1}
		boxed[i], texts[i] = d, string(d[:])
		std.Store(boxed[i], v)
		least.Add(d, v)
		tiny.Set(d, v)
		// A Set may be dropped: it is repeated until the value is there.
		for ok := false; !ok; _, ok = ris.Get(texts[i]) {
			ris.Set(texts[i], v, 1)
			ris.Wait()
		}
	}
	return []memoryPeer{
		{"sync.Map", func(mask int) func(int) {
			return func(i int) {
				v, ok := std.Load(boxed[i&mask])
				v.(*value).use(ok)
			}
		}},
		{"otter", func(mask int) func(int) {
			return func(i int) {
				v, ok := tiny.GetIfPresent(digests[i&mask])
				v.use(ok)
			}
		}},
		{"ristretto", func(mask int) func(int) {
			return func(i int) {
				v, ok := ris.Get(texts[i&mask])
				v.use(ok)
			}
		}},
		{"golang-lru", func(mask int) func(int) {
			return func(i int) {
				v, ok := least.Get(digests[i&mask])
				v.use(ok)
			}
		}},
	}, nil
}
