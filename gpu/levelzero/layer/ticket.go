package layer

import (
	"bytes"
	"errors"

	"github.com/kernstash/kernstash/gpu/levelzero"
	"github.com/kernstash/kernstash/internal/engine"
	"github.com/kernstash/kernstash/internal/front"
	"github.com/kernstash/kernstash/internal/inprocess"
	"github.com/kernstash/kernstash/key"
	"github.com/kernstash/kernstash/store"
)

// ticket is a module under way.
type ticket struct{ inprocess.Ticket }

// errRefused says that the driver did not take an artifact.
var errRefused = errors.New("the driver refused it")

// Next implements [front.Session]: Build for what the driver refused, else Done. After End
// nothing is taken.
func (t *ticket) Next(result front.Message) (front.Step, bool) { return t.next(outcome(result)) }

func (t *ticket) next(o *Outcome) (front.Step, bool) {
	step, ok := t.Current()
	switch hit := step.Kind == engine.Hit; {
	case !ok:
		t.End()
		return front.Step{Action: front.Pass}, true
	case hit && o.Result == front.Refused:
		t.Rejected(errRefused)
		return t.Wait(inprocess.AtOnce)
	case hit && o.Result == front.Restored:
		t.Restored()
	case !hit && o.Result == front.Failed:
		t.Refused()
	case !hit && o.Result == front.Built:
		a := o.artifact(step)
		t.Built(o.Took, func(*key.Recipe) engine.Outcome { return engine.Outcome{Artifact: a} })
	default:
		t.End()
	}
	return front.Step{Action: front.Done}, true
}

// served returns a stored artifact as the interposer is told of it.
func served(a *store.Artifact) (front.Message, error) {
	if len(a.Binaries) == 0 {
		return nil, errRefused
	}
	unknown := levelzero.UnknownNamesOf(a)
	m := front.Message{
		{Tag: front.Binary, Data: a.Binaries[0].Data},
		{Tag: front.Log, Data: front.String(a.Log)},
		{Tag: front.Unknown, Number: uint64(unknown.Global)},
		{Tag: front.Unknown, Detail: 1, Number: uint64(unknown.Function)},
	}
	for _, k := range a.Kernels {
		m = append(m, front.Field{Tag: front.Kernel, Data: front.String(k.Name)})
	}
	return m, nil
}

// artifact returns that of what was built, in memory of its own; nil where there is
// nothing to store.
func (o *Outcome) artifact(s engine.Step) *store.Artifact {
	if len(o.Native) == 0 || s.Kind != engine.Build {
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
