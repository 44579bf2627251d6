package disk

import (
	"context"
	"encoding/binary"
	"errors"
	"sync"
	"time"

	"github.com/kernstash/kernstash/internal/beneath"
	"github.com/kernstash/kernstash/internal/format"
	"github.com/kernstash/kernstash/internal/lock"
)

// The order is a file of what is to be evicted next, the first to go first. Who has
// walked the root writes it, and whoever sees that there is too much takes the next few
// off it: so all who put help to evict, and nobody looks at every entry again. It is
// believed in nothing: each entry is looked at before it goes. See docs/FORMAT.md.
const (
	orderFile    = "order"
	orderMagic   = "kstorder"
	orderVersion = 1
	orderHead    = 64
	orderRecord  = 76
	orderNext    = 40 // where the head says what was taken
)

// orderAge is how long an order is used: what was used since it was made stays for so
// long, however seldom it is used.
const orderAge = time.Minute

// leastOrder is for how many entries an order is written: fewer are soon looked at.
const leastOrder = 256

// maxOrder bounds how many entries the walk remembers: 1.6 MB of file.
const maxOrder = 16 << 10

// mostAppended is how many times as many as the walk found may be appended.
const mostAppended = 8

// length is how long an order may be that is no longer appended to.
func (h *orderHeader) length() int64 { return orderHead + (1+mostAppended)*h.last*orderRecord }

// orderHeader is the head of an order.
type orderHeader struct {
	last   int64 // so many records are in order; more follow only if it is open
	made   int64 // in nanoseconds since 1970
	policy Policy
	open   bool // what is put since goes behind all others, and is appended
}

func (h *orderHeader) put(b []byte) {
	copy(b, orderMagic)
	binary.LittleEndian.PutUint32(b[8:], orderVersion<<16|format.Version)
	binary.LittleEndian.PutUint32(b[12:], orderRecord)
	binary.LittleEndian.PutUint64(b[16:], uint64(h.last))
	binary.LittleEndian.PutUint64(b[24:], uint64(h.made))
	b[32] = byte(h.policy)
	if h.open {
		b[33] = 1
	}
}

func parseOrder(b []byte) (h orderHeader, ok bool) {
	if string(b[:8]) != orderMagic || binary.LittleEndian.Uint32(b[8:]) != orderVersion<<16|format.Version || binary.LittleEndian.Uint32(b[12:]) != orderRecord {
		return h, false
	}
	h = orderHeader{
		last: int64(binary.LittleEndian.Uint64(b[16:])), made: int64(binary.LittleEndian.Uint64(b[24:])),
		policy: Policy(b[32]), open: b[33] == 1,
	}
	return h, h.last >= 0 && h.last <= maxOrder
}

func (v *victim) put(b []byte) {
	for i := range v.names {
		copy(b[16*i:], v.names[i][:])
	}
	binary.LittleEndian.PutUint64(b[64:], uint64(v.mtime))
	binary.LittleEndian.PutUint32(b[72:], v.n)
}

// victimOf reads a record: an entry of this version, or nothing that is there.
func victimOf(b []byte) (v victim) {
	for i := range v.names {
		copy(v.names[i][:], b[16*i:])
	}
	v.mtime = int64(binary.LittleEndian.Uint64(b[64:]))
	v.n = binary.LittleEndian.Uint32(b[72:])
	v.entry, v.noted = true, true
	return v
}

// order is an open order.
type order struct {
	f beneath.File
	orderHeader
}

// openOrder opens the order, if there is one that can be used.
func (s *Store) openOrder(m *meta) (o order, ok bool) {
	f, info, err := m.dir.OpenWrite(orderFile)
	if err != nil {
		return o, false
	}
	var b [orderHead]byte
	if info.Kind == beneath.Regular && readFull(f, b[:]) == nil {
		if o.orderHeader, ok = parseOrder(b[:]); ok && s.usable(&o) {
			o.f = f
			return o, true
		}
	}
	f.Close()
	return order{}, false
}

// usable says whether an order is new enough, and of the policy.
func (s *Store) usable(o *order) bool {
	age := s.nowNanos() - o.made
	return o.policy == s.o.Policy && age >= 0 && age < int64(orderAge)
}

// writeOrder replaces the order by what a shrink has found and left.
func (h *shrink) writeOrder() {
	rest := h.rest.inOrder()
	if len(rest) < bound(h.s.o.hooks.order, leastOrder) {
		_ = h.b.m.dir.Remove(orderFile)
		return
	}
	head := orderHeader{
		made: h.s.nowNanos(), policy: h.s.o.Policy,
		// By this policy what is put from now on comes last.
		open: h.s.o.Policy == LRU && h.seen == shards && !h.rest.dropped,
	}
	if h.s.o.Policy == Cost {
		rest = rest[:len(rest)/2] // what is put from now on may be worth less than the others
	}
	b := make([]byte, orderHead, orderHead+orderRecord*len(rest))
	for i := range rest {
		if rest[i].entry && !rest[i].other {
			b = b[:len(b)+orderRecord]
			rest[i].put(b[len(b)-orderRecord:])
			head.last++
		}
	}
	head.put(b)
	if err := h.b.m.dir.Publish(h.b.m.tmp, orderFile, true, head.made, b); err != nil {
		h.s.o.Trace.Debug("order not written", "reason", err)
	}
}

// take takes the next few off the order. Who is killed with them has taken them too.
// None says that it is used up; an error that it cannot be used, ErrBusy that others do.
func (o *order) take(ctx context.Context, m *meta, most int) ([]victim, error) {
	unlock, err := m.locks.Lock(ctx, orderByte, orderWait)
	if err != nil {
		return nil, err
	}
	defer unlock()
	info, err := o.f.Stat()
	switch {
	case err != nil:
		return nil, err
	case info.Links == 0:
		return nil, lock.ErrBusy // there is another one
	}
	var next [8]byte
	if _, err := o.f.ReadAt(next[:], orderNext); err != nil {
		return nil, err
	}
	at, last := int64(binary.LittleEndian.Uint64(next[:])), o.last
	// Nobody makes it longer: else one with a hole would keep us for hours.
	if there := (min(info.Size, o.length()) - orderHead) / orderRecord; o.open || last > there {
		last = there
	}
	n := min(int64(most), last-at)
	if at < 0 || n <= 0 {
		return nil, nil
	}
	b := make([]byte, n*orderRecord)
	if _, err := o.f.ReadAt(b, orderHead+at*orderRecord); err != nil {
		return nil, err
	}
	binary.LittleEndian.PutUint64(next[:], uint64(at+n))
	if err := o.f.WriteAt(next[:], orderNext); err != nil {
		return nil, err
	}
	victims := make([]victim, n)
	for i := range victims {
		victims[i] = victimOf(b[i*orderRecord:])
	}
	return victims, nil
}

// orderWait bounds how long one waits who wants to take something off the order.
const orderWait = 20 * time.Millisecond

// takeAtOnce is how many are taken at once: at most so many for each process that
// evicts go too many.
const takeAtOnce = 4

// shrinkInOrder frees what the order has next, beside others who do the same. done says
// that enough is free; else somebody has to walk the root.
func (h *shrink) shrinkInOrder() (done bool) {
	o, ok := h.s.openOrder(h.b.m)
	if !ok {
		return false
	}
	defer o.f.Close()
	var d device
	defer d.close(h.r.dir)
	for h.total() > h.down {
		victims, err := o.take(h.ctx, h.b.m, takeAtOnce)
		switch {
		case errors.Is(err, lock.ErrBusy), h.ctx.Err() != nil:
			return true // the next put looks again
		case len(victims) == 0, h.b.unreadable != nil:
			return false
		}
		freed, _ := h.freeIn(&d, victims, 1<<62)
		if freed > 0 {
			h.s.evict.full.Store(0)
		}
	}
	return true
}

// appendix is an open order that is appended to.
type appendix struct {
	mu sync.Mutex
	o  order
}

// appendOrder notes what was just put, if there is an order and room in it.
func (s *Store) appendOrder(m *meta, names leafNames, n uint32, mtime int64) {
	a := &m.appendix
	a.mu.Lock()
	defer a.mu.Unlock()
	info, err := beneath.Info{}, error(nil)
	if a.o.f.IsOpen() {
		if info, err = a.o.f.Stat(); err != nil || info.Links == 0 {
			a.close()
		}
	}
	if !a.o.f.IsOpen() {
		var ok bool
		if a.o, ok = s.openOrder(m); !ok {
			return
		}
		if info, err = a.o.f.Stat(); err != nil {
			return
		}
	}
	if !a.o.open || !s.usable(&a.o) || info.Size > a.o.length() {
		return
	}
	v := victim{n: n, mtime: mtime}
	if !v.name(names) {
		return
	}
	var b [orderRecord]byte
	v.put(b[:])
	if err := a.o.f.Append(b[:]); err != nil {
		a.o.open = false
	}
}

func (a *appendix) close() {
	if a.o.f.IsOpen() {
		a.o.f.Close()
	}
	a.o = order{}
}
