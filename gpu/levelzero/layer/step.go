package layer

import (
	"bytes"
	"errors"
	"fmt"

	"github.com/kernstash/kernstash"
	"github.com/kernstash/kernstash/gpu/levelzero"
	"github.com/kernstash/kernstash/internal/front"
	"github.com/kernstash/kernstash/store"
)

// step is what the core wants to be done: an artifact to be restored, or a module to be
// built.
type step struct {
	artifact *store.Artifact // nil: build
	wanted   bool            // what is built is to be stored
}

// errRefused is wrapped where the driver did not take an artifact.
var errRefused = errors.New("the driver refused it")

// reply returns the step as the interposer is told of it.
func (s step) reply() Reply {
	if s.artifact == nil {
		return Reply{Action: front.Build}
	}
	return served(s.artifact)
}

// served returns a stored artifact as the interposer is told of it.
func served(a *store.Artifact) Reply {
	r := Reply{Action: front.Hit, Log: a.Log, Kernels: make([]string, len(a.Kernels)), Unknown: levelzero.UnknownNamesOf(a)}
	if len(a.Binaries) > 0 {
		r.Native = a.Binaries[0].Data
	}
	for i, k := range a.Kernels {
		r.Kernels[i] = k.Name
	}
	return r
}

// result says what an outcome means for the step: what was built; nil where it was
// restored, or there is nothing to store.
func (s step) result(o *Outcome) (*store.Artifact, error) {
	switch {
	case s.artifact != nil && o.Result == front.Restored:
		return nil, nil
	case s.artifact != nil && o.Result == front.Refused:
		return nil, errRefused
	case s.artifact == nil && o.Result == front.Failed:
		return nil, &kernstash.BuildError{Code: o.Code, Log: o.Log}
	case s.artifact == nil && o.Result == front.Built:
		return s.taken(o), nil
	}
	return nil, fmt.Errorf("%w: code %d", kernstash.ErrAbandoned, o.Code)
}

// taken returns the artifact of what was built, in memory of its own; nil where there is
// nothing to store.
func (s step) taken(o *Outcome) *store.Artifact {
	if len(o.Native) == 0 || !s.wanted {
		return nil
	}
	a := &store.Artifact{
		Binaries: []store.Binary{{Form: store.FormFinal, Data: bytes.Clone(o.Native)}, o.Unknown.Binary()},
		Log:      o.Log, Cost: o.Took,
	}
	for _, name := range o.Kernels {
		a.Kernels = append(a.Kernels, store.Kernel{Name: name})
	}
	return a
}
