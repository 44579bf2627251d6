// Package lock takes locks on single bytes of one permanent file: as many
// locks as there are offsets, and none of them has a file of its own that a
// crash could leave behind or a cleaner remove.
//
// The locks are open-file-description locks. All locks of a Pool belong to one
// description, and so take one descriptor, however many they are. They exclude
// other processes; a table excludes the goroutines of this one. They are
// released by asking, not by closing, so a forked child that inherited the
// descriptor does not keep them. They end with the process, however it ends;
// but a child that it forked, and that neither ended nor called exec, shares
// the description, and a lock that the process held when it was killed ends
// with the last such child.
//
// A host may close the descriptor, and with it the locks are lost to other
// processes. A Pool notices at the next lock and opens the file again.
package lock

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/kernstash/kernstash/internal/safefs"
)

// ErrBusy says that somebody else held the lock for as long as one waited.
var ErrBusy = errors.New("locked")

// ErrUnsupported is wrapped where the system or the file system has no locks
// of this kind.
var ErrUnsupported = errors.New("file locks do not work here")

// The pause between two attempts, while another process holds the byte, grows
// from the first to the last. A wait in the kernel ends neither with a context
// nor at a bound.
const (
	firstPause = 300 * time.Microsecond
	lastPause  = 10 * time.Millisecond
)

// Pool hands out locks on the bytes of one file. It is safe for concurrent
// use.
type Pool struct {
	open func() (safefs.File, error)

	mu      sync.Mutex // held for attempts, too, which wait for nobody
	current *description
	table   map[int64]*holder
	closed  bool
}

// description is what the kernel's locks belong to. It is closed when it is
// retired and has no holders.
type description struct {
	f       safefs.File
	holders int
	retired bool
}

// holder is the goroutine that holds a byte.
type holder struct {
	d     *description
	freed chan struct{} // is closed when the lock ends
}

// New returns a pool that opens its file with open: for reading and writing,
// a new description each time. Nothing is opened before the first lock.
func New(open func() (safefs.File, error)) *Pool {
	return &Pool{open: open, table: make(map[int64]*holder)}
}

// Lock takes the byte at offset, waiting at most wait (zero or less: one
// attempt) and no longer than ctx. ErrBusy: the wait ended; an error of ctx:
// that ended; any other: there is no lock to be had. Unlock may be called from
// any goroutine, more calls than one do nothing.
func (p *Pool) Lock(ctx context.Context, offset int64, wait time.Duration) (unlock func(), err error) {
	var deadline time.Time
	for pause := firstPause; ; {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		freed, err := p.try(offset)
		if err == nil {
			return sync.OnceFunc(func() { p.unlock(offset) }), nil
		}
		if !errors.Is(err, ErrBusy) || wait <= 0 {
			return nil, err
		}
		now := time.Now()
		if deadline.IsZero() {
			deadline = now.Add(wait)
		}
		left := deadline.Sub(now)
		if left <= 0 {
			return nil, err
		}
		if freed != nil { // one of this process holds it, who tells when it is free
			pause = firstPause
		} else {
			// Jitter, so that a crowd does not come back all at once.
			left = min(left, pause/2+rand.N(pause))
			pause = min(2*pause, lastPause)
		}
		if err := sleep(ctx, left, freed); err != nil {
			return nil, err
		}
	}
}

// try makes one attempt. Where the byte is held in this process, freed is
// closed when it is free.
func (p *Pool) try(offset int64) (freed <-chan struct{}, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if other := p.table[offset]; other != nil {
		return other.freed, ErrBusy
	}
	for range 8 {
		if p.current == nil {
			f, err := p.open()
			if err != nil {
				return nil, fmt.Errorf("open lock file: %w", err)
			}
			p.current = &description{f: f}
		}
		d := p.current
		err = Try(d.f, offset, 1)
		if err == nil {
			// A lock file that was removed locks nobody out any more.
			if info, err := d.f.Stat(); err == nil && info.Links > 0 {
				d.holders++
				p.table[offset] = &holder{d, make(chan struct{})}
				return nil, nil
			}
			_ = Release(d.f, offset, 1)
		} else if errors.Is(err, ErrBusy) || d.f.Own() == nil {
			p.settle(d, false)
			return nil, err
		}
		p.settle(d, true)
	}
	return nil, fmt.Errorf("lock file is removed again and again: %w", ErrUnsupported)
}

// settle retires a description that is spoilt, so that it serves for no new lock, and
// closes it when nobody needs it. Locks that others hold on it stay.
func (p *Pool) settle(d *description, spoilt bool) {
	if spoilt || p.closed {
		d.retired = true
		if p.current == d {
			p.current = nil
		}
	}
	if d.retired && d.holders == 0 {
		d.f.Close()
	}
}

func (p *Pool) unlock(offset int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	h := p.table[offset]
	// A byte that cannot be unlocked is free when the description is closed.
	spoilt := Release(h.d.f, offset, 1) != nil
	delete(p.table, offset)
	close(h.freed)
	h.d.holders--
	p.settle(h.d, spoilt)
}

// Close ends the description when nobody holds a lock any more: locks that are held
// stay.
func (p *Pool) Close() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.closed = true
	if p.current != nil {
		p.settle(p.current, true)
	}
}

// sleep waits for d, or until freed is closed.
func sleep(ctx context.Context, d time.Duration, freed <-chan struct{}) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-freed:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
