// Package inprocess is what our library sees to in the process of a program that knows
// nothing of it, whichever API the program is served at: whether it may be there at all
// ([Open]), what the process was started with ([StartEnvironment]), and that what it
// stores and counts is written along the way, since nothing of Go's runs when the process
// ends ([Instance.WaitStored], [Keeper]).
//
// A request comes in at a [FrontEnd]. The host's thread drives it through the engine with a
// [Ticket]. What came of it the FrontEnd reports.
package inprocess

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"runtime/debug"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/kernstash/kernstash/internal/cache"
	"github.com/kernstash/kernstash/internal/elevated"
	"github.com/kernstash/kernstash/internal/runlog"
	"github.com/kernstash/kernstash/internal/safefs"
	"github.com/kernstash/kernstash/internal/settings"
)

// Instance is the cache in the process of a host. It is safe for concurrent use.
type Instance struct {
	Cache  *cache.Cache
	log    *runlog.Log // nil: nobody listens
	keeper *Keeper
	delay  allowance
	asking sync.WaitGroup

	unwritten *atomic.Int32 // see Options

	mu     sync.Mutex
	closed bool
}

// ErrOut is wrapped where the cache is to stay out of the process.
var ErrOut = errors.New("the cache stays out of this process")

// Options configure Open.
type Options struct {
	Settings settings.Inputs // Lenient is set

	// Unwritten, which may be nil, has how much of what was built and counted is not written yet. It is for whoever ends the
	// process, and may not call Go then.
	Unwritten *atomic.Int32
}

// Open opens the cache in the process of a host. An error, which wraps
// ErrOut, says why it stays out: the process has rights that its user has not, or too little address
// space left, or the cache is off. The front end tells it, too.
func Open(o Options, frontEnd string) (*Instance, error) {
	in := &Instance{
		log: runlog.FromEnvironment(o.Settings.Environ), delay: allowance{left: waitFirst}, unwritten: cmp.Or(o.Unwritten, new(atomic.Int32)),
	}
	if err := in.open(o.Settings); err != nil {
		in.FrontEnd(frontEnd).Report(runlog.Event{Kind: runlog.Out, Reason: err.Error()})
		return nil, fmt.Errorf("open layer: %w", err)
	}
	in.keeper = NewKeeper(func() { _ = in.Guard(func() error { in.Cache.KeepStats(); return nil }) }, in.unwritten)
	return in, nil
}

func (in *Instance) open(inputs settings.Inputs) (err error) {
	if elevated.Now() {
		return fmt.Errorf("%w: it has rights that its user has not", ErrOut)
	}
	if err := enoughAddresses(); err != nil {
		return fmt.Errorf("%w: %w", ErrOut, err)
	}
	inputs.Lenient = true
	if in.Cache, err = cache.Open(cache.Options{Settings: inputs}); err != nil {
		return fmt.Errorf("%w: %w", ErrOut, err)
	}
	switch set := in.Cache.Settings(); {
	case in.Cache.Reads():
	case set.Dir == "":
		return fmt.Errorf("%w: it has no directory: set KERNSTASH_DIR, or HOME", ErrOut)
	default:
		return fmt.Errorf("%w: it is switched off", ErrOut)
	}
	return nil
}

// enter begins what Quiesce waits for, until asking.Done; false: the cache is closed.
func (in *Instance) enter() bool {
	in.mu.Lock()
	defer in.mu.Unlock()
	if !in.closed {
		in.asking.Add(1)
	}
	return !in.closed
}

// Go calls f, which asks the engine, in a goroutine of its own.
func (in *Instance) Go(f func()) { in.asking.Go(f) }

// Quiesce waits until nobody asks the engine.
func (in *Instance) Quiesce() { in.asking.Wait() }

// Close closes the cache, and waits until what it counted is written.
func (in *Instance) Close() error {
	in.mu.Lock()
	in.closed = true
	in.mu.Unlock()
	in.Quiesce()
	captures, artifacts := in.Cache.Close()
	in.keeper.Wait()
	if len(captures) > 0 || artifacts > 0 {
		return fmt.Errorf("close cache: not stored in time: %d captures, %d artifacts", len(captures), artifacts)
	}
	return nil
}

// Counted has what was counted written, off the caller's path.
func (in *Instance) Counted() { in.keeper.Poke() }

// ErrPanic is wrapped by what Guard makes of a panic.
var ErrPanic = errors.New("internal error")

// Guard makes an error of a panic in f: nothing of ours ends the host.
func (in *Instance) Guard(f func() error) (err error) {
	defer func() {
		if v := recover(); v != nil {
			err = fmt.Errorf("%w: %v", ErrPanic, v)
			in.Cache.Warn("panic in the layer", "value", fmt.Sprint(v), "stack", string(debug.Stack()))
		}
	}()
	return f()
}

// StartEnvironment returns the environment that the process was started with, as far as it is
// known.
func StartEnvironment() []string {
	b, err := safefs.ReadSystem("/proc/self/environ")
	if err != nil {
		return os.Environ() // as of when our library was loaded
	}
	return strings.FieldsFunc(string(b), func(r rune) bool { return r == 0 })
}
