// Package lock takes locks on single bytes of one permanent file: as many
// locks as there are offsets, and none of them has a file of its own that a
// crash could leave behind or a cleaner remove.
//
// The locks are open-file-description locks. All locks of a Pool belong to one description,
// and so take one descriptor, however many they are. They exclude other processes; a table
// excludes the goroutines of this one. They are released by asking, not by closing, so a
// forked child that inherited the descriptor does not keep them. They end with the process,
// however it ends; but a child that it forked, and that neither ended nor called exec,
// shares the description, and a lock that the process held when it was killed ends with the
// last such child.
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

// ErrUnsupported is wrapped where the system or the file system has no locks of this kind.
var ErrUnsupported = errors.New("file locks do not work here")

// The pause between two attempts, while another process holds the byte, grows from the
// first to the last. A wait in the kernel ends neither with a context nor at a bound.
const (
	firstPause = 300 * time.Microsecond
	lastPause  = 10 * time.Millisecond
)

// maxTrying is how many attempts are under way at once.
const maxTrying = 16

// Pool hands out locks on the bytes of one file. It is safe for concurrent use.
type Pool struct {
	open   func() (safefs.File, error)
	trying chan struct{} // holds one for each attempt under way

	mu      sync.Mutex
	current *description // for new locks
	table   map[int64]*holder
	closed  bool
}

// description is what the kernel's locks belong to. It is closed when it serves for
// no new lock and nobody uses it.
type description struct {
	f     safefs.File
	users int // holders, and attempts under way
}

// holder is the goroutine that holds a byte, or tries to.
type holder struct {
	d     *description
	freed chan struct{} // is closed when a lock ends; nil: an attempt
}

// New returns a pool that opens its file with open: for reading and writing,
// a new description each time. Nothing is opened before the first lock.
func New(open func() (safefs.File, error)) *Pool {
	return &Pool{open: open, trying: make(chan struct{}, maxTrying), table: make(map[int64]*holder)}
}

// Lock takes the byte at offset, waiting at most wait (zero or less: one
// attempt) and no longer than ctx. ErrBusy: the wait ended; an error of ctx:
// that ended; any other: there is no lock to be had. Unlock may be called from
// any goroutine, more calls than one do nothing.
func (p *Pool) Lock(ctx context.Context, offset int64, wait time.Duration) (unlock func(), err error) {
	deadline := time.Now().Add(wait)
	for pause := firstPause; ; {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		select {
		case p.trying <- struct{}{}:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
		freed, err := p.try(offset)
		<-p.trying
		if err == nil {
			return sync.OnceFunc(func() { p.unlock(offset) }), nil
		}
		left := time.Until(deadline)
		if !errors.Is(err, ErrBusy) || left <= 0 {
			return nil, err
		}
		if freed != nil { // one of this process holds it, who tells when it is free
			pause = firstPause
		} else {
			// Jitter, so that a crowd does not come back all at once.
			left = min(left, pause/2+rand.N(pause))
			pause = min(2*pause, lastPause)
		}
		select {
		case <-time.After(left):
		case <-freed:
		case <-ctx.Done():
			return nil, ctx.Err()
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
	h := &holder{}
	p.table[offset] = h
	p.mu.Unlock()
	d, err := p.attempt(offset)
	p.mu.Lock()
	if err != nil {
		delete(p.table, offset)
		return nil, err
	}
	h.d, h.freed = d, make(chan struct{})
	return nil, nil
}

// attempt takes the byte for a description that excludes others.
func (p *Pool) attempt(offset int64) (*description, error) {
	for range 8 {
		d, err := p.acquire()
		if err != nil {
			return nil, fmt.Errorf("open lock file: %w", err)
		}
		err = Try(d.f, offset, 1)
		if err == nil {
			// A lock file that was removed locks nobody out any more.
			if info, err := d.f.Stat(); err == nil && info.Links > 0 {
				return d, nil
			}
			_ = Release(d.f, offset, 1)
		} else if errors.Is(err, ErrBusy) || d.f.Own() == nil {
			p.release(d, false)
			return nil, err
		}
		p.release(d, true)
	}
	return nil, fmt.Errorf("lock file is removed again and again: %w", ErrUnsupported)
}

// acquire returns the description for new locks, for one more user.
func (p *Pool) acquire() (*description, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.current == nil {
		p.mu.Unlock()
		f, err := p.open()
		p.mu.Lock()
		switch {
		case err != nil:
			return nil, err
		case p.current != nil: // another goroutine was faster
			f.Close()
		default:
			p.current = &description{f: f}
		}
	}
	p.current.users++
	return p.current, nil
}

// release ends a use of a description, which serves for no new lock if it is
// spoilt. Locks that others hold on it stay.
func (p *Pool) release(d *description, spoilt bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	d.users--
	if p.current == d && (spoilt || p.closed) {
		p.current = nil
	}
	if p.current != d && d.users == 0 {
		d.f.Close()
	}
}

func (p *Pool) unlock(offset int64) {
	p.mu.Lock()
	h := p.table[offset]
	p.mu.Unlock()
	// A byte that cannot be unlocked is free when the description is closed.
	spoilt := Release(h.d.f, offset, 1) != nil
	p.mu.Lock()
	delete(p.table, offset)
	close(h.freed)
	p.mu.Unlock()
	p.release(h.d, spoilt)
}

// Close ends the description when nobody uses it any more: locks that are held stay.
func (p *Pool) Close() {
	p.mu.Lock()
	defer p.mu.Unlock()
	d := p.current
	p.closed, p.current = true, nil
	if d != nil && d.users == 0 {
		d.f.Close()
	}
}
