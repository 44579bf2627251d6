package engine

import (
	"sync"

	"github.com/kernstash/kernstash/key"
	"github.com/kernstash/kernstash/store"
)

// AtOnce is the Reason of what was built while another thread of the process built it.
const AtOnce = "another thread was building it"

// builds are those under way in the process that equal requests share, by key.
type builds struct {
	mu  sync.Mutex
	all map[key.Key]*building
}

// building is one of them. What came of it is set before done is closed.
type building struct {
	key  key.Key
	done chan struct{}

	ended    bool            // it was built, or failed; else it was given up
	artifact *store.Artifact // for others; nil: there is none
	err      error           // of the compiler
}

// join returns the build of k that is under way. If there is none it begins one, which
// the caller leads.
func (b *builds) join(k key.Key) (_ *building, leads bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if own := b.all[k]; own != nil {
		return own, false
	}
	if b.all == nil {
		b.all = make(map[key.Key]*building)
	}
	own := &building{key: k, done: make(chan struct{})}
	b.all[k] = own
	return own, true
}

// find returns the build of k that is under way; nil: there is none.
func (b *builds) find(k key.Key) *building {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.all[k]
}

func (b *builds) end(own *building) {
	b.mu.Lock()
	delete(b.all, own.key)
	b.mu.Unlock()
	close(own.done)
}
