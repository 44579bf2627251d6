package layer

import (
	"errors"
	"sync"
	"time"

	"github.com/kernstash/kernstash"
	"github.com/kernstash/kernstash/internal/engine"
	"github.com/kernstash/kernstash/internal/guest"
	"github.com/kernstash/kernstash/internal/runlog"
	"github.com/kernstash/kernstash/key"
	"github.com/kernstash/kernstash/stats"
)

// decided takes a decision of the core in a pool.
func (l *Layer) decided(p *pool, d kernstash.Decision) {
	if d.Origin == kernstash.Compiled && p.Delegates(kernstash.Job{Devices: d.Devices, Key: d.Key}) {
		l.door.Counted()
		l.nearest.put(d) // it is only just being built
		return
	}
	if errors.Is(d.Err, kernstash.ErrAbandoned) {
		l.door.Counted()
		return
	}
	own := engine.Decision{
		Key: d.Key, Devices: d.Devices, Size: d.Size, Origin: engine.Origin(d.Origin), Err: d.Err, Reason: d.Reason, Nearest: d.Nearest,
		Observed: d.Observed, Spent: d.Spent, Saved: d.Saved, Bytes: d.Bytes, Kernels: d.Kernels,
	}
	var diagnostic *kernstash.BuildError
	if errors.As(d.Err, &diagnostic) {
		own.Err = guest.ErrRefused
	}
	l.door.Decided(own)
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
	l.door.Cache.Count(stats.Builds, 1)
	l.door.Cache.Count(stats.BuildTime, int64(took))
	e := runlog.Event{
		Kind: runlog.Asked, Outcome: runlog.Compiled, Key: s.job.Key.Short(), Spent: took,
		Label: guest.Label(nil, s.job.Recipe.Image.Size()),
	}
	counter := stats.Delegated
	if failed {
		counter = stats.BuildFailures
	}
	l.door.Cache.Count(counter, 1)
	l.door.Counted()
	report := func(d kernstash.Decision) {
		e.Reason, e.Nearest = d.Reason, d.Nearest
		if d.Observed != "" {
			e.Observed = runlog.Unknown
		}
		if failed {
			e.Outcome, e.Reason, e.Nearest = runlog.Failed, "the compiler refused it", ""
		}
		l.door.Report(e)
	}
	if s.shared {
		report(kernstash.Decision{Reason: runlog.ReasonAtOnce})
		return
	}
	l.nearest.take(s.job.Key, report)
}

// nearest brings decisions of the core and the builds that they are of together: either may
// come first. Of one key there may be several, as a thread may ask for what another one
// has built, and nobody has stored.
type nearest struct {
	mu      sync.Mutex
	n       int // decisions that wait for their builds
	all     map[key.Key][]kernstash.Decision
	waiting map[key.Key][]func(kernstash.Decision)
}

// maxNearest bounds the decisions: a build may be given up.
const maxNearest = 256

// put hands a decision to the build that waits for it, or keeps it for one.
func (n *nearest) put(d kernstash.Decision) {
	if report := n.keep(d); report != nil {
		report(d)
	}
}

func (n *nearest) keep(d kernstash.Decision) (waits func(kernstash.Decision)) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if w := n.waiting[d.Key]; len(w) > 0 {
		if n.waiting[d.Key] = w[1:]; len(w) == 1 {
			delete(n.waiting, d.Key)
		}
		return w[0]
	}
	if n.all == nil || n.n >= maxNearest {
		n.n, n.all = 0, make(map[key.Key][]kernstash.Decision)
	}
	n.n++
	n.all[d.Key] = append(n.all[d.Key], d)
	return nil
}

// take calls report with the decision for a build, now or when it comes.
func (n *nearest) take(k key.Key, report func(kernstash.Decision)) {
	n.mu.Lock()
	of := n.all[k]
	if len(of) == 0 {
		if n.waiting == nil {
			n.waiting = make(map[key.Key][]func(kernstash.Decision))
		}
		n.waiting[k] = append(n.waiting[k], report)
		n.mu.Unlock()
		return
	}
	n.n--
	if n.all[k] = of[1:]; len(of) == 1 {
		delete(n.all, k)
	}
	n.mu.Unlock()
	report(of[0])
}

// flush reports the builds that still wait: their decisions were given up.
func (n *nearest) flush() {
	n.mu.Lock()
	waiting := n.waiting
	n.waiting = nil
	n.mu.Unlock()
	for _, of := range waiting {
		for _, report := range of {
			report(kernstash.Decision{})
		}
	}
}
