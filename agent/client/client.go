// Package client asks the agent of this node for entries, hands it what was built, and has
// it keep others from building the same. It runs in the processes of applications, and under
// a Go runtime without a network poller: its sockets block, for a bounded time, and each
// request has a connection of its own. So there is no connection that a forked child could
// share, and little time for a host that closes descriptors of others.
package client

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"log/slog"
	"os"
	"sync"
	"time"

	"github.com/kernstash/kernstash/internal/elevated"
	"github.com/kernstash/kernstash/internal/format"
	"github.com/kernstash/kernstash/key"
	"github.com/kernstash/kernstash/reason"
	"github.com/kernstash/kernstash/stats"
	"github.com/kernstash/kernstash/store"
)

// Options say where the agent is. Only Paths is required.
type Options struct {
	Paths   []string      // of its socket: the first at which there is one
	UIDs    []uint32      // of users, besides root and the own one, whose agent is believed
	Timeout time.Duration // of a request whose context has no deadline; 0: DefaultTimeout
	MaxSize int64         // of an entry, in bytes; 0: 1 GiB
	Trace   *slog.Logger  // may be nil

	// Recorder takes what is counted of puts to remotes, and of bytes; nil takes none.
	Recorder stats.Recorder

	elevated bool // for tests: the program has rights that its user has not
}

// Name is what people are told that entries of the agent are from.
const Name = "the agent"

const (
	// DefaultTimeout is how long a request takes at most.
	DefaultTimeout = 500 * time.Millisecond

	// putTimeout is how long it takes to hand over an entry, which nobody waits for.
	putTimeout = 5 * time.Second

	// absentFor is how long it is believed that there is no agent.
	absentFor = 10 * time.Second

	maxSize = 1 << 30
)

// ErrAbsent says that there is no agent.
var ErrAbsent = errors.New("there is no agent")

// ErrUntrusted is wrapped where whoever is at the socket is not believed.
var ErrUntrusted = errors.New("not an agent to be believed")

// errElevated is that of a program that would run what others built, with rights of another.
var errElevated = errors.New("the program has rights that its user has not (set-user-id, or file capabilities)")

// ErrRefused is wrapped for what the agent does not do for this user.
var ErrRefused = errors.New("the agent refused it")

// Client is a store.Store, a store.Locker and a store.Blobs, of manifests alone. It is safe
// for concurrent use. It keeps nothing open but the connections of locks.
type Client struct {
	o Options

	mu          sync.Mutex
	path        string // of the socket that was found
	absentUntil time.Time
	absent      error
}

var (
	_ store.Store  = (*Client)(nil)
	_ store.Locker = (*Client)(nil)
	_ store.Blobs  = (*Client)(nil)
)

// New returns a Client. It looks for no agent before the first request.
func New(o Options) *Client {
	o.Trace = cmp.Or(o.Trace, slog.New(slog.DiscardHandler))
	o.Recorder = cmp.Or[stats.Recorder](o.Recorder, stats.Noop{})
	o.Timeout = cmp.Or(o.Timeout, DefaultTimeout)
	o.MaxSize = min(cmp.Or(o.MaxSize, maxSize), format.MaxSize)
	return &Client{o: o}
}

// find returns the path of the socket. Where there is none it looks again after a while.
func (c *Client) find() (string, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.path != "" {
		return c.path, nil
	}
	if c.o.elevated || elevated.Now() {
		return "", fmt.Errorf("%w: %w", errElevated, ErrUntrusted)
	}
	if time.Now().Before(c.absentUntil) {
		return "", c.absent
	}
	c.absent = ErrAbsent
	for _, path := range c.o.Paths {
		err := c.check(path)
		if err == nil {
			c.path = path
			return path, nil
		}
		if !errors.Is(err, os.ErrNotExist) {
			c.absent = err
			c.o.Trace.Warn("agent not used", "socket", path, "reason", err)
			break // a later one is not what was meant
		}
	}
	c.absentUntil = time.Now().Add(absentFor)
	return "", c.absent
}

// Present reports whether there is an agent to be believed, as far as looking for its socket
// tells. Where there was none a moment ago it does not look again.
func (c *Client) Present() bool {
	_, err := c.find()
	return err == nil
}

// lost notes that nobody is at the socket any more.
func (c *Client) lost() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.path, c.absent, c.absentUntil = "", ErrAbsent, time.Now().Add(absentFor)
}

// believes reports whether what a user offers may be taken.
func (c *Client) believes(uid uint32, named bool) bool {
	for _, u := range c.o.UIDs {
		if u == uid {
			return true
		}
	}
	return !named && (uid == 0 || uid == uint32(os.Geteuid()))
}

// until returns when a request ends.
func until(ctx context.Context, timeout time.Duration) time.Time {
	end := time.Now().Add(timeout)
	if d, ok := ctx.Deadline(); ok && d.Before(end) {
		return d
	}
	return end
}

// missed returns why there is no answer, as a miss.
func missed(err error) error {
	why := reason.MissRemote
	if errors.Is(err, ErrAbsent) {
		why = reason.MissAbsent
	}
	if miss, ok := errors.AsType[*store.MissError](err); ok {
		return miss
	}
	return &store.MissError{Reason: why, Cause: err}
}

var errNone = errors.New("the agent has none")

// missOf is a miss that the agent reports.
func missOf(code uint32) error {
	why := reason.Reason(code)
	if code > uint32(reason.MissRemote) || why < reason.MissAbsent {
		why = reason.MissRemote
	}
	cause := errNone
	if why == reason.MissRemote { // a remote of the agent's; the agent answers
		cause = fmt.Errorf("%w: %w", errNone, store.ErrSlow)
	}
	return &store.MissError{Reason: why, Cause: cause}
}

// List yields an error: whoever wants to know asks the agent's owner.
func (c *Client) List(context.Context) iter.Seq2[store.Info, error] {
	return func(yield func(store.Info, error) bool) {
		yield(store.Info{}, fmt.Errorf("list the agent's entries: %w", errors.ErrUnsupported))
	}
}

// HasBlob returns false: asking takes as long as putting.
func (c *Client) HasBlob(store.Kind, key.Digest, int64) bool { return false }

// lockPause is the pause between two tries to take a lock.
func lockPause(before time.Duration) time.Duration {
	return min(max(before*3/2, 5*time.Millisecond), 100*time.Millisecond)
}

// Lock takes the build lock of k among all applications that the agent serves, and, if it
// has leases, among all nodes; see [store.Locker].
func (c *Client) Lock(ctx context.Context, k key.Key, wait time.Duration) (unlock func(), err error) {
	end := time.Now().Add(wait)
	for pause := lockPause(0); ; pause = lockPause(pause) {
		unlock, err = c.tryLock(ctx, k)
		if err == nil {
			return unlock, nil
		}
		left := time.Until(end)
		if !errors.Is(err, store.ErrLocked) || left <= 0 {
			return nil, fmt.Errorf("lock %s at the agent: %w", k.Short(), err)
		}
		t := time.NewTimer(min(pause, left))
		select {
		case <-t.C:
		case <-ctx.Done():
			t.Stop()
			return nil, fmt.Errorf("lock %s at the agent: %w", k.Short(), ctx.Err())
		}
	}
}
