package layer

import (
	"bytes"
	"errors"
	"slices"

	"github.com/kernstash/kernstash/gpu/opencl"
	"github.com/kernstash/kernstash/gpu/opencl/internal/randomname"
	"github.com/kernstash/kernstash/internal/engine"
	"github.com/kernstash/kernstash/internal/front"
	"github.com/kernstash/kernstash/internal/inprocess"
	"github.com/kernstash/kernstash/store"
)

// unit is the part of a ticket for a group of equal devices: an artifact is to be restored, or
// a program to be built.
type unit struct {
	*inprocess.Part
	job     engine.Job // as it was asked for
	places  []int      // of its devices in the request
	compile bool       // only
	object  bool       // what the compiler makes is kept: it reads header files
	wanted  bool       // what is built is to be stored
	kind    opencl.Kind

	// What is to be done, and once it has ended what there is.
	artifact *store.Artifact // nil: build
	unread   int64           // bytes of an answer that was left out of it

	// How it ended.
	ended bool
	good  bool // a program was made
	built bool // the driver built, whatever it was given
	made  part // as jobs of the worker tell of it
}

// How a unit ends without a program; inprocess.ErrRefused is the compiler's own verdict.
var (
	errRejected  = errors.New("the driver refused it") // an artifact
	errAbandoned = errors.New("given up")              // nothing is known
)

// serve returns what the layer is told to do for each device; with later a large answer is left out of it.
func (u *unit) serve(later bool) Artifact {
	if u.ended {
		return Artifact{Kind: opencl.Deferred} // a program was made, or will not be
	}
	u.artifact, u.unread = u.Artifact, 0
	switch {
	case u.artifact != nil:
		out := served(u.artifact, u.kind)
		if later && len(out.Answer) > leastLater {
			out.Unread, out.Answer = int64(len(out.Answer)), nil
		}
		u.unread = out.Unread
		return out
	case !u.wanted, u.compile && !u.object:
		return Artifact{Kind: opencl.Deferred} // no binary is asked for
	}
	return Artifact{Kind: u.kind}
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
	return out
}

// end takes how it ended for each of the devices, and returns the artifact of what
// was built, nil if there is nothing to store of it.
func (u *unit) end(outcomes []*Outcome) (*store.Artifact, error) {
	has := func(r front.Result) int {
		return slices.IndexFunc(outcomes, func(o *Outcome) bool { return o.Result == r })
	}
	u.built = has(front.Built) >= 0
	if has(front.Abandoned) >= 0 {
		return nil, errAbandoned
	}
	if u.artifact != nil {
		if has(front.Refused) >= 0 || has(front.Failed) >= 0 {
			return nil, errRejected
		}
		if has(front.Restored) >= 0 {
			u.made.log, u.made.cost = u.artifact.Log, u.artifact.Cost
			return nil, nil
		}
	}
	if has(front.Failed) >= 0 {
		return nil, inprocess.ErrRefused
	}
	if i := has(front.Built); i >= 0 {
		u.made.log, u.made.cost = outcomes[i].Artifact.Log, outcomes[i].Took
		return u.taken(outcomes[i]), nil
	}
	return nil, errAbandoned
}

// taken returns the artifact of what was built, in memory of its own; nil where
// there is nothing to store.
func (u *unit) taken(o *Outcome) *store.Artifact {
	binary := o.Artifact.Binary
	if u.compile && !u.object {
		binary = compiles
	}
	if len(binary) == 0 || u.kind == opencl.Deferred || !u.wanted || randomname.IsIn(o.Artifact.Log) {
		return nil
	}
	if !u.compile && opencl.FromDriversCache(u.job.Recipe, binary) {
		return nil
	}
	form := store.FormFinal
	if u.kind == opencl.Intermediate {
		form = store.FormIntermediate
	}
	return &store.Artifact{
		Binaries: []store.Binary{{Form: form, Data: bytes.Clone(binary)}},
		Log:      o.Artifact.Log, Kernels: o.Artifact.Kernels, Cost: o.Took,
	}
}
