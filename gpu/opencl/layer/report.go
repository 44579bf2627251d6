package layer

import (
	"errors"
	"sync"
	"time"

	"github.com/kernstash/kernstash"
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
	l.door.Decided(d)
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
	if d, ok := l.nearest.take(s.job.Key); ok {
		e.Reason, e.Nearest = d.Reason, d.Nearest
		if d.Observed != "" {
			e.Observed = runlog.Unknown
		}
	}
	if failed {
		l.door.Cache.Count(stats.BuildFailures, 1)
		e.Outcome, e.Reason, e.Nearest = runlog.Failed, "the compiler refused it", ""
	} else {
		l.door.Cache.Count(stats.Delegated, 1)
	}
	l.door.Report(e)
	l.door.Counted()
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
