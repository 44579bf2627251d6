package kernstash

import (
	"sync"

	"github.com/kernstash/kernstash/key"
	"github.com/kernstash/kernstash/store"
)

// recent keeps the artifacts that were restored last: applications build one program
// several times in a row, and reading and digesting it again takes half as long as the
// driver does for it. What is kept was digested when it was read, and restored.
//
// Only complete ones are kept: others may be better on disk by now; and only large ones:
// the others cost little. An artifact is taken
// out for each restore, and put back when that has gone well: one that a driver refuses
// is not served again.
type recent struct {
	mu    sync.Mutex
	bytes int64
	order []key.Key // oldest first
	all   map[key.Key]*store.Artifact
}

// recentBytes bounds what is kept, recentLeast each of them from below.
const (
	recentBytes = 2 << 20
	recentLeast = 64 << 10
)

// take returns the artifact of a key; nil: it is not kept, or not all of it, and
// first does not say that the first binary will do.
func (r *recent) take(k key.Key, first bool) *store.Artifact {
	r.mu.Lock()
	defer r.mu.Unlock()
	a := r.all[k]
	if a == nil || !first && len(a.Rest) > 0 {
		return nil
	}
	r.remove(k)
	return a
}

// remove is called with the lock held.
func (r *recent) remove(k key.Key) {
	r.bytes -= r.all[k].Size()
	delete(r.all, k)
	for i := range r.order {
		if r.order[i] == k {
			r.order = append(r.order[:i], r.order[i+1:]...)
			return
		}
	}
}

func (r *recent) put(k key.Key, a *store.Artifact) {
	switch size := a.Size(); {
	case size < recentLeast || size > recentBytes:
		return
	case a.Binaries[0].Form != store.FormFinal || len(a.Variants) > 0:
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.all[k] != nil {
		return // from another thread
	}
	if r.all == nil {
		r.all = make(map[key.Key]*store.Artifact)
	}
	r.all[k] = a
	r.order = append(r.order, k)
	for r.bytes += a.Size(); r.bytes > recentBytes; {
		r.remove(r.order[0])
	}
}

// clear lets all of them go.
func (r *recent) clear() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.all, r.order, r.bytes = nil, nil, 0
}
