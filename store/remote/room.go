package remote

import (
	"cmp"
	"context"
	"fmt"
	"sync"

	"github.com/kernstash/kernstash/store"
)

// maxReading bounds the bytes of objects that are in memory at one time before it is known whether they are
// signed as they should be. One alone may be as large as Options.MaxSize.
const maxReading = 256 << 20

// errRoom is no trouble of the engine.
var errRoom = fmt.Errorf("%w: too many bytes of other objects are being read", store.ErrBusy)

// room counts the bytes of objects that are being read.
type room struct {
	most int64

	mu   sync.Mutex
	used int64
	left chan struct{} // closed when there is more room; nil: nobody waits
}

// take takes n bytes for who holds held of them, where used says that there is room up to most, or nobody else
// has any. Else it waits for that, or fails.
func (r *room) take(ctx context.Context, held, n, most int64, wait bool) error {
	for {
		r.mu.Lock()
		if r.used == held || r.used+n <= most {
			r.used += n
			r.mu.Unlock()
			return nil
		}
		if !wait {
			r.mu.Unlock()
			return errRoom
		}
		if r.left == nil {
			r.left = make(chan struct{})
		}
		left := r.left
		r.mu.Unlock()
		select {
		case <-left:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

func (r *room) give(n int64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.used -= n
	if r.left != nil {
		close(r.left)
		r.left = nil
	}
}

// reading is an object that is being read. It takes room for it when the engine says how large it is, or, where
// the engine does not know, when its bytes arrive. It is a [store.Flow].
type reading struct {
	room  *room
	many  bool       // one of many that nobody waits for: it waits, and leaves half of the room to others
	outer store.Flow // may be nil

	mu    sync.Mutex
	held  int64
	moved int64
	err   error // of the room
}

// Expect takes room.
func (r *reading) Expect(ctx context.Context, total int64) error {
	if r.outer != nil {
		if err := r.outer.Expect(ctx, total); err != nil {
			return err
		}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if total > 0 {
		return r.take(ctx, total, r.many && r.held == 0)
	}
	return nil
}

// Moved takes room for what was not expected. It does not wait: others may do so, who hold the rest.
func (r *reading) Moved(n int) error {
	if r.outer != nil {
		if err := r.outer.Moved(n); err != nil {
			return err
		}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.moved += int64(n)
	if r.moved > r.held {
		return r.take(context.Background(), r.moved-r.held, false)
	}
	return nil
}

// take is called with r.mu held.
func (r *reading) take(ctx context.Context, n int64, wait bool) error {
	most := r.room.most
	if r.many {
		most /= 2
	}
	if r.err = r.room.take(ctx, r.held, n, most, wait); r.err == nil {
		r.held += n
	}
	return r.err
}

func (r *reading) why() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.err
}

// end gives back what was taken.
func (r *reading) end() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.room.give(r.held)
	r.held = 0
}

// hold gets an object, which takes room until done is called.
func (s *Store) hold(ctx context.Context, name string, many bool) (b []byte, done func(), err error) {
	r := &reading{room: &s.room, many: many, outer: store.FlowOf(ctx)}
	b, err = s.readAtMost(store.WithFlow(ctx, r), name, s.opt.MaxSize)
	if err != nil {
		err = cmp.Or(r.why(), err) // an engine may have kept no more than the text
	}
	return b, r.end, err
}
