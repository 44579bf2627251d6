package guest

import (
	"errors"
	"fmt"
	"runtime/debug"
	"sync"

	"github.com/kernstash/kernstash"
	"github.com/kernstash/kernstash/internal/runlog"
)

// Guest is the cache in the process of a host. It is safe for concurrent use.
type Guest struct {
	Cache  *kernstash.Cache
	log    *runlog.Log // nil: nobody listens
	keeper *Keeper
	delay  allowance
	asking sync.WaitGroup
}

// Open opens the cache in the process of a host; o.Lenient is set. An error, which wraps
// ErrOut, says why it stays out. The door tells it, too.
func Open(o kernstash.Options, door string) (*Guest, error) {
	g := &Guest{log: runlog.FromEnvironment()}
	if err := g.open(o); err != nil {
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

func (g *Guest) open(o kernstash.Options) (err error) {
	if err := MayStay(); err != nil {
		return err
	}
	o.Lenient = true
	if g.Cache, err = kernstash.Open(o); err != nil {
		return fmt.Errorf("%w: %w", ErrOut, err)
	}
	if !g.Cache.Reads() {
		return fmt.Errorf("%w: the cache is switched off, or has no directory", ErrOut)
	}
	return nil
}

// Go calls f, which asks the core, in a goroutine of its own.
func (g *Guest) Go(f func()) { g.asking.Go(f) }

// Settle waits until nobody asks the core.
func (g *Guest) Settle() { g.asking.Wait() }

// Close closes the cache, and waits until what it counted is written.
func (g *Guest) Close() error {
	err := g.Cache.Close()
	g.keeper.Wait()
	return err
}

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
