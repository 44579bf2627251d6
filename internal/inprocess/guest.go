package inprocess

import (
	"errors"
	"fmt"
	"runtime/debug"
	"sync"

	"github.com/kernstash/kernstash/internal/cache"
	"github.com/kernstash/kernstash/internal/runlog"
	"github.com/kernstash/kernstash/internal/settings"
)

// Guest is the cache in the process of a host. It is safe for concurrent use.
type Guest struct {
	Cache  *cache.Cache
	log    *runlog.Log // nil: nobody listens
	keeper *Keeper
	delay  allowance
	asking sync.WaitGroup

	mu     sync.Mutex
	closed bool
}

// Open opens the cache in the process of a host; in.Lenient is set. An error, which wraps
// ErrOut, says why it stays out. The door tells it, too.
func Open(in settings.Inputs, door string) (*Guest, error) {
	g := &Guest{log: runlog.FromEnvironment(in.Environ)}
	if err := g.open(in); err != nil {
		g.Door(door).Report(runlog.Event{Kind: runlog.Out, Reason: err.Error()})
		return nil, fmt.Errorf("open layer: %w", err)
	}
	g.keeper = NewKeeper(func() {
		_ = g.Guard(func() error {
			g.Cache.KeepStats()
			return nil
		})
	})
	return g, nil
}

func (g *Guest) open(in settings.Inputs) (err error) {
	if err := MayStay(); err != nil {
		return err
	}
	in.Lenient = true
	if g.Cache, err = cache.Open(cache.Options{Settings: in}); err != nil {
		return fmt.Errorf("%w: %w", ErrOut, err)
	}
	if !g.Cache.Reads() {
		return fmt.Errorf("%w: the cache is switched off, or has no directory", ErrOut)
	}
	return nil
}

// enter begins what Settle waits for, until asking.Done; false: the cache is closed.
func (g *Guest) enter() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if !g.closed {
		g.asking.Add(1)
	}
	return !g.closed
}

// Go calls f, which asks the engine, in a goroutine of its own.
func (g *Guest) Go(f func()) { g.asking.Go(f) }

// Settle waits until nobody asks the engine.
func (g *Guest) Settle() { g.asking.Wait() }

// Close closes the cache, and waits until what it counted is written.
func (g *Guest) Close() error {
	g.mu.Lock()
	g.closed = true
	g.mu.Unlock()
	g.Settle()
	captures, artifacts := g.Cache.Close()
	g.keeper.Wait()
	if len(captures) > 0 || artifacts > 0 {
		return fmt.Errorf("%w: %d captures, %d artifacts", errDropped, len(captures), artifacts)
	}
	return nil
}

var errDropped = errors.New("close cache: not stored in time")

// Counted has what was counted written, off the caller's path.
func (g *Guest) Counted() { g.keeper.Poke() }

// ErrPanic is wrapped by what Guard makes of a panic.
var ErrPanic = errors.New("internal error")

// Guard makes an error of a panic in f: nothing of ours ends the host.
func (g *Guest) Guard(f func() error) (err error) {
	defer func() {
		if v := recover(); v != nil {
			err = fmt.Errorf("%w: %v", ErrPanic, v)
			g.Cache.Warn("panic in the layer", "value", fmt.Sprint(v), "stack", string(debug.Stack()))
		}
	}()
	return f()
}
