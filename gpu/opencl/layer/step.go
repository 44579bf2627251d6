package layer

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/kernstash/kernstash"
	"github.com/kernstash/kernstash/gpu/opencl"
	"github.com/kernstash/kernstash/internal/front"
	"github.com/kernstash/kernstash/store"
)

// step is what the core wants to be done for one unit of a ticket: an artifact
// to be restored, or a program to be built.
type step struct {
	job      kernstash.Job
	artifact *store.Artifact // nil: build
	compile  bool            // only
	object   bool            // what the compiler makes is kept: it reads header files
	wanted   bool            // what is built is to be stored
	kind     opencl.Kind
	done     chan stepResult // takes one

	shared    bool // another ticket asked for it first
	delegated bool // nobody but the ticket's own waits for what is built, or counts it

	log  string        // of the build
	cost time.Duration // of the build
}

type stepResult struct {
	built *store.Artifact // what was built; nil: restored, or nothing to store
	err   error
}

// errRefused is wrapped where the driver did not take an artifact.
var errRefused = errors.New("the driver refused it")

// step has the layer do a step, and waits for how it ended.
func (t *Ticket) step(ctx context.Context, job kernstash.Job, a *store.Artifact) (*store.Artifact, error) {
	return t.do(ctx, t.newStep(job, a))
}

func (t *Ticket) do(ctx context.Context, s *step) (*store.Artifact, error) {
	if err := t.offer(s); err != nil {
		return nil, err
	}
	return t.await(ctx, s)
}

func (t *Ticket) await(ctx context.Context, s *step) (*store.Artifact, error) {
	select {
	case r := <-s.done:
		return r.built, r.err
	case <-ctx.Done():
		t.withdraw(s)
		return nil, fmt.Errorf("%w: %w", kernstash.ErrAbandoned, context.Cause(ctx))
	}
}

// stepAlone has the layer build, which only this ticket waits for.
func (t *Ticket) stepAlone(job kernstash.Job) error {
	s := t.newStep(job, nil)
	if err := t.offer(s); err != nil {
		return err
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.alone = append(t.alone, s)
	return nil
}

func (t *Ticket) newStep(job kernstash.Job, a *store.Artifact) *step {
	return &step{
		job: job, artifact: a, compile: t.pool.compile, object: t.pool.compile && t.request.Image.IncludesFiles(), kind: t.pool.kind(job), done: make(chan stepResult, 1),
		wanted: !job.Key.IsZero() && t.l.door.Cache.Writes(), delegated: a == nil && t.pool.Delegates(job),
	}
}

// serve returns what the layer is told of the step.
func (s *step) serve() Artifact {
	switch {
	case s.artifact != nil:
		return served(s.artifact, s.kind)
	case !s.wanted, s.compile && !s.object:
		return Artifact{Kind: opencl.Deferred} // no binary is asked for
	}
	return Artifact{Kind: s.kind}
}

// served returns a stored artifact as the layer is told of it. Its first binary
// is the one to load.
func served(a *store.Artifact, kind opencl.Kind) Artifact {
	out := Artifact{Log: a.Log, Kernels: a.Kernels, Kind: kind}
	if len(a.Binaries) == 0 {
		return out
	}
	out.Binary = a.Binaries[0].Data
	for _, b := range a.Binaries[1:] {
		if b.Form == store.FormIntermediate {
			out.Answer = b.Data
		}
	}
	for _, b := range a.Rest {
		if b.Form == store.FormIntermediate {
			out.Unread = b.Size
		}
	}
	return out
}

// result says what the outcomes of its devices mean for the step.
func (s *step) result(outcomes []*Outcome) stepResult {
	has := func(r front.Result) int {
		return slices.IndexFunc(outcomes, func(o *Outcome) bool { return o.Result == r })
	}
	if i := has(front.Abandoned); i >= 0 {
		return stepResult{err: fmt.Errorf("%w: code %d", kernstash.ErrAbandoned, outcomes[i].Code)}
	}
	if s.artifact != nil {
		if has(front.Refused) >= 0 || has(front.Failed) >= 0 {
			return stepResult{err: errRefused}
		}
		if has(front.Restored) >= 0 {
			s.log, s.cost = s.artifact.Log, s.artifact.Cost
			return stepResult{}
		}
	}
	if i := has(front.Failed); i >= 0 {
		o := outcomes[i]
		return stepResult{err: &kernstash.BuildError{Code: o.Code, Log: o.Artifact.Log, Err: opencl.Code(o.Code)}}
	}
	if i := has(front.Built); i >= 0 {
		s.log, s.cost = outcomes[i].Artifact.Log, outcomes[i].Took
		return stepResult{built: s.taken(outcomes[i])}
	}
	return stepResult{err: fmt.Errorf("%w: nothing was built", kernstash.ErrAbandoned)}
}

// taken returns the artifact of what was built, in memory of its own; nil where
// there is nothing to store.
func (s *step) taken(o *Outcome) *store.Artifact {
	binary := o.Artifact.Binary
	if s.compile && !s.object {
		binary = compiles
	}
	if len(binary) == 0 || s.kind == opencl.Deferred || !s.wanted {
		return nil
	}
	if !s.compile && opencl.FromDriversCache(s.job.Recipe, binary) {
		return nil
	}
	form := store.FormFinal
	if s.kind == opencl.Intermediate {
		form = store.FormIntermediate
	}
	return &store.Artifact{
		Binaries: []store.Binary{{Form: form, Data: bytes.Clone(binary)}},
		Log:      o.Artifact.Log, Kernels: o.Artifact.Kernels, Cost: o.Took,
	}
}
