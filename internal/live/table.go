package live

import (
	"encoding/binary"
	"sync"
	"sync/atomic"
)

// table finds programs by their id. Reading takes no lock and does not
// allocate; a reader that races with a writer may miss what is just being
// added, and looks again under the lock. Ids are digests, so any eight of
// their bytes are the hash.
type table[P, K, T any] struct {
	slots atomic.Pointer[[]slot[P, K, T]] // a power of two of them

	mu   sync.Mutex // for writers
	full int        // slots that hold a program or held one
}

type slot[P, K, T any] struct {
	atomic.Pointer[Program[P, K, T]]
}

const minSlots = 16

// load returns the program of an id, nil if there is none.
func (t *table[P, K, T]) load(id *ID) *Program[P, K, T] {
	s := t.slots.Load()
	if s == nil {
		return nil
	}
	p, _ := find(*s, id)
	return p
}

// find returns the program of an id and its slot; a nil program, and the slot
// that ends the search, if there is none.
func find[P, K, T any](slots []slot[P, K, T], id *ID) (p *Program[P, K, T], at int) {
	mask := len(slots) - 1
	for i := int(id.hash()) & mask; ; i = (i + 1) & mask {
		p := slots[i].Load()
		if p == nil || p.id == *id {
			return p, i
		}
	}
}

func (id *ID) hash() uint64 {
	return binary.LittleEndian.Uint64(id.What[:]) + id.Devices*0x9e3779b97f4a7c15
}

// loadOrAdd returns the program of an id, or adds the one that create makes.
func (t *table[P, K, T]) loadOrAdd(id *ID, create func() *Program[P, K, T]) *Program[P, K, T] {
	t.mu.Lock()
	defer t.mu.Unlock()
	slots := t.spare()
	p, at := find(slots, id)
	if p == nil {
		p = create()
		slots[at].Store(p)
		t.full++
	}
	return p
}

// spare returns slots of which at least half are empty. Programs that were
// removed leave a mark in their slot, which goes when the slots are renewed.
func (t *table[P, K, T]) spare() []slot[P, K, T] {
	var old []slot[P, K, T]
	if s := t.slots.Load(); s != nil {
		old = *s
	}
	if 2*(t.full+1) <= len(old) {
		return old
	}
	var live []*Program[P, K, T]
	for i := range old {
		if p := old[i].Load(); p != nil && p.id != (ID{}) { // no request has a zero digest
			live = append(live, p)
		}
	}
	n := minSlots
	for n < 4*(len(live)+1) {
		n *= 2
	}
	slots := make([]slot[P, K, T], n)
	for _, p := range live {
		_, at := find(slots, &p.id)
		slots[at].Store(p)
	}
	t.full = len(live)
	t.slots.Store(&slots)
	return slots
}

// remove takes p out if it is in and keep does not object.
func (t *table[P, K, T]) remove(p *Program[P, K, T], keep func() bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	s := t.slots.Load()
	if s == nil {
		return
	}
	at, i := find(*s, &p.id)
	if at == p && (keep == nil || !keep()) {
		(*s)[i].Store(&Program[P, K, T]{})
	}
}
