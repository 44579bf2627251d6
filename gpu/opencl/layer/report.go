package layer

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/kernstash/kernstash"
	"github.com/kernstash/kernstash/internal/runlog"
)

// report writes an event for `kernstash run`, if it listens.
func (l *Layer) report(e runlog.Event) {
	if l.log == nil {
		return
	}
	e.Door = l.door
	e.Exe, _ = os.Executable()
	_ = l.log.Write(e) // nobody's concern
}

// decided takes a decision of the core.
func (l *Layer) decided(d kernstash.Decision) {
	l.keeper.poke()
	if l.log == nil || errors.Is(d.Err, kernstash.ErrAbandoned) {
		return
	}
	e := runlog.Event{
		Kind: runlog.Asked, Label: label(d), Reason: d.Reason, Nearest: d.Nearest,
		Observed: runlog.Observed(d.Observed), Spent: d.Spent, Saved: d.Saved, Bytes: d.Bytes,
	}
	if !d.Key.IsZero() {
		e.Key = d.Key.Short()
	}
	if d.Observed == "incomparable" {
		e.Observed = runlog.Unknown
	}
	switch {
	case d.Err != nil:
		e.Outcome, e.Reason = runlog.Failed, "the compiler refused it"
		var diagnostic *kernstash.BuildError
		if !errors.As(d.Err, &diagnostic) {
			e.Reason = d.Err.Error()
		}
	case d.Origin == kernstash.Disk:
		e.Outcome = runlog.Disk
	default:
		e.Outcome = runlog.Compiled
	}
	l.report(e)
}

// shared tells of a program that another thread had just made.
func (l *Layer) shared(units map[*native]bool) {
	for n := range units {
		d := kernstash.Decision{Size: n.job.Recipe.Image.Size()}
		if n.artifact != nil {
			for _, k := range n.artifact.Kernels {
				d.Kernels = append(d.Kernels, k.Name)
			}
		}
		e := runlog.Event{Kind: runlog.Asked, Outcome: runlog.Memory, Label: label(d)}
		if !n.job.Key.IsZero() {
			e.Key = n.job.Key.Short()
		}
		l.report(e)
	}
	l.keeper.poke()
}

// label names a program for people.
func label(d kernstash.Decision) string {
	if len(d.Kernels) == 0 {
		return fmt.Sprintf("%d bytes", d.Size)
	}
	return strings.Join(d.Kernels, ", ")
}

// keeper writes statistics along the way: nothing of ours runs when the process
// ends.
type keeper struct {
	l       *Layer
	mu      sync.Mutex
	more    bool // something was counted
	running bool
	ended   *sync.Cond
}

// After a decision the counts are written at once, and again while they may be
// changing still: what is stored is counted a little later.
const (
	keepFirst = 2 * time.Millisecond
	keepLast  = 128 * time.Millisecond
)

// poke has the counts written, off the caller's path.
func (k *keeper) poke() {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.more = true
	if !k.running {
		k.running = true
		go k.run()
	}
}

func (k *keeper) run() {
	for pause := keepFirst; ; pause *= 2 {
		_ = k.l.guarded(func() error {
			k.l.cache.KeepStats()
			return nil
		})
		k.mu.Lock()
		if k.more {
			k.more = false
			pause = keepFirst
		}
		if pause > keepLast {
			k.running = false
			if k.ended != nil {
				k.ended.Broadcast()
			}
			k.mu.Unlock()
			return
		}
		k.mu.Unlock()
		time.Sleep(pause)
	}
}

// wait waits until nothing is to be written.
func (k *keeper) wait() {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.ended == nil {
		k.ended = sync.NewCond(&k.mu)
	}
	for k.running {
		k.ended.Wait()
	}
}
