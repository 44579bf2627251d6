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
	"github.com/kernstash/kernstash/key"
	"github.com/kernstash/kernstash/stats"
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

// decided takes a decision of the core in a pool.
func (l *Layer) decided(p *pool, d kernstash.Decision) {
	l.keeper.Poke()
	if d.Origin == kernstash.Compiled && p.Delegates(kernstash.Job{Devices: d.Devices, Key: d.Key}) {
		l.nearest.put(d) // it is only just being built
		return
	}
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

// builtElsewhere counts and tells of a build that the core did not wait for. It is
// elsewhere that its artifact is made.
func (l *Layer) builtElsewhere(s *step, outcomes []*Outcome, err error) {
	var diagnostic *kernstash.BuildError
	failed := errors.As(err, &diagnostic)
	if err != nil && !failed {
		return
	}
	var took time.Duration
	for _, o := range outcomes {
		took = max(took, o.Took)
	}
	l.cache.Count(stats.Builds, 1)
	l.cache.Count(stats.BuildTime, int64(took))
	e := runlog.Event{
		Kind: runlog.Asked, Outcome: runlog.Compiled, Key: s.job.Key.Short(), Spent: took,
		Label: label(kernstash.Decision{Size: s.job.Recipe.Image.Size()}),
	}
	if d, ok := l.nearest.take(s.job.Key); ok {
		e.Reason, e.Nearest = d.Reason, d.Nearest
		if d.Observed != "" {
			e.Observed = runlog.Unknown
		}
	}
	if failed {
		l.cache.Count(stats.BuildFailures, 1)
		e.Outcome, e.Reason, e.Nearest = runlog.Failed, "the compiler refused it", ""
	} else {
		l.cache.Count(stats.Delegated, 1)
	}
	l.report(e)
	l.keeper.Poke()
}

// nearest holds decisions of the core until what they are of is built.
type nearest struct {
	mu  sync.Mutex
	all map[key.Key]kernstash.Decision
}

// maxNearest bounds them: a build may be given up.
const maxNearest = 256

func (n *nearest) put(d kernstash.Decision) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.all == nil || len(n.all) >= maxNearest {
		n.all = make(map[key.Key]kernstash.Decision)
	}
	n.all[d.Key] = d
}

func (n *nearest) take(k key.Key) (kernstash.Decision, bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	d, ok := n.all[k]
	delete(n.all, k)
	return d, ok
}

// shared tells of a program that another thread had just made.
func (l *Layer) shared(units map[*native]bool) {
	for n := range units {
		if n.artifact == nil {
			continue // it was built
		}
		d := kernstash.Decision{Size: n.job.Recipe.Image.Size()}
		for _, k := range n.artifact.Kernels {
			d.Kernels = append(d.Kernels, k.Name)
		}
		e := runlog.Event{Kind: runlog.Asked, Outcome: runlog.Memory, Label: label(d)}
		if !n.job.Key.IsZero() {
			e.Key = n.job.Key.Short()
		}
		l.report(e)
	}
	l.keeper.Poke()
}

// label names a program for people.
func label(d kernstash.Decision) string {
	if len(d.Kernels) == 0 {
		return fmt.Sprintf("%d bytes", d.Size)
	}
	return strings.Join(d.Kernels, ", ")
}
