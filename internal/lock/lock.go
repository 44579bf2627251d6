// Package lock takes locks on single bytes of one permanent file: as many
// locks as there are offsets, and none of them has a file of its own that a
// crash could leave behind or a cleaner remove.
//
// The locks are open-file-description locks. They exclude processes from each
// other and also goroutines of one process, since every holder has a
// description of its own. They are released by asking, not by closing, so a
// forked child that inherited the descriptor does not keep them. They end with
// the process, however it ends; but a child that it forked, and that neither
// ended nor called exec, shares the descriptions, and a lock that the process
// held when it was killed ends with the last such child.
package lock

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/kernstash/kernstash/internal/beneath"
)

// ErrBusy says that somebody else held the lock for as long as one waited.
var ErrBusy = errors.New("locked")

// ErrUnsupported is wrapped where the system or the file system has no locks
// of this kind.
var ErrUnsupported = errors.New("file locks do not work here")

// The pause between two attempts grows from the first to the last. Waiting in
// the kernel instead could be ended neither by a context nor by a bound.
const (
	firstPause = 300 * time.Microsecond
	lastPause  = 10 * time.Millisecond
)

// maxIdle is how many descriptions are kept open for the next lock, and how
// many attempts are under way at once.
const maxIdle = 16

// Pool hands out locks on the bytes of one file. It is safe for concurrent
// use.
type Pool struct {
	open   func() (beneath.File, error)
	trying chan struct{} // holds one for each attempt under way

	mu     sync.Mutex
	idle   []beneath.File
	closed bool
}

// New returns a pool that opens its file with open: for reading and writing,
// a new description each time. Nothing is opened before the first lock.
func New(open func() (beneath.File, error)) *Pool {
	return &Pool{open: open, trying: make(chan struct{}, maxIdle)}
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
		select {
		case p.trying <- struct{}{}:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
		f, err := p.try(offset)
		<-p.trying
		if err == nil {
			return sync.OnceFunc(func() { p.unlock(f, offset) }), nil
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
		// Jitter, so that a crowd does not come back all at once.
		if err := sleep(ctx, min(left, pause/2+rand.N(pause))); err != nil {
			return nil, err
		}
		pause = min(2*pause, lastPause)
	}
}

// try makes one attempt. While somebody else holds the byte it keeps no
// descriptor, and a crowd's attempts take turns: waiters have maxIdle
// descriptors at most, however many they are and however slow the system is.
func (p *Pool) try(offset int64) (beneath.File, error) {
	for range 8 {
		f, err := p.take()
		if err != nil {
			return beneath.File{}, fmt.Errorf("open lock file: %w", err)
		}
		if err := Try(f, offset, 1); err != nil {
			p.put(f)
			return beneath.File{}, err
		}
		// A lock file that was removed locks nobody out any more.
		if info, err := f.Stat(); err == nil && info.Links > 0 {
			return f, nil
		}
		f.Close()
	}
	return beneath.File{}, fmt.Errorf("lock file is removed again and again: %w", ErrUnsupported)
}

func (p *Pool) unlock(f beneath.File, offset int64) {
	if Release(f, offset, 1) != nil {
		f.Close()
		return
	}
	p.put(f)
}

func (p *Pool) take() (beneath.File, error) {
	p.mu.Lock()
	if n := len(p.idle); n > 0 {
		f := p.idle[n-1]
		p.idle = p.idle[:n-1]
		p.mu.Unlock()
		return f, nil
	}
	p.mu.Unlock()
	return p.open()
}

func (p *Pool) put(f beneath.File) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed || len(p.idle) >= maxIdle {
		f.Close()
		return
	}
	p.idle = append(p.idle, f)
}

// Close ends the descriptions that nobody uses; locks that are held stay, and
// theirs end with unlock.
func (p *Pool) Close() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.closed = true
	for _, f := range p.idle {
		f.Close()
	}
	p.idle = nil
}

func sleep(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
