package layer

import (
	"bytes"
	"errors"
	"slices"
	"time"

	"github.com/kernstash/kernstash/gpu/opencl"
	"github.com/kernstash/kernstash/internal/engine"
	"github.com/kernstash/kernstash/internal/front"
	"github.com/kernstash/kernstash/internal/inprocess"
	"github.com/kernstash/kernstash/store"
)

// step is what is to be done for one unit of a ticket: an artifact to be restored, or a
// program to be built.
type step struct {
	job      engine.Job
	artifact *store.Artifact // nil: build
	shared   bool            // the artifact is another request's
	compile  bool            // only
	object   bool            // what the compiler makes is kept: it reads header files
	wanted   bool            // what is built is to be stored
	kind     opencl.Kind

	built bool          // the driver built, whatever it was given
	saved time.Duration // what was counted as saved
	log   string        // of the build
	cost  time.Duration // of the build
}

// How a step ends without a program; inprocess.ErrRefused is the compiler's own verdict.
var (
	errRejected  = errors.New("the driver refused it") // an artifact
	errAbandoned = errors.New("given up")              // nothing is known
)

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

// end takes how the step ended for each of its devices, and returns the artifact of what
// was built, nil if there is nothing to store of it.
func (s *step) end(outcomes []*Outcome) (*store.Artifact, error) {
	has := func(r front.Result) int {
		return slices.IndexFunc(outcomes, func(o *Outcome) bool { return o.Result == r })
	}
	s.built = has(front.Built) >= 0
	if has(front.Abandoned) >= 0 {
		return nil, errAbandoned
	}
	if s.artifact != nil {
		if has(front.Refused) >= 0 || has(front.Failed) >= 0 {
			return nil, errRejected
		}
		if has(front.Restored) >= 0 {
			s.log, s.cost = s.artifact.Log, s.artifact.Cost
			return nil, nil
		}
	}
	if has(front.Failed) >= 0 {
		return nil, inprocess.ErrRefused
	}
	if i := has(front.Built); i >= 0 {
		s.log, s.cost = outcomes[i].Artifact.Log, outcomes[i].Took
		return s.taken(outcomes[i]), nil
	}
	return nil, errAbandoned
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
