package layer

import (
	"bytes"
	"errors"
	"time"

	"github.com/kernstash/kernstash/gpu/levelzero"
	"github.com/kernstash/kernstash/internal/engine"
	"github.com/kernstash/kernstash/internal/front"
	"github.com/kernstash/kernstash/internal/inprocess"
	"github.com/kernstash/kernstash/key"
	"github.com/kernstash/kernstash/reason"
	"github.com/kernstash/kernstash/store"
)

// Ticket is a request under way. Its methods may be called from any goroutine, one at a
// time, but End, which may be called at any time.
type Ticket struct {
	*inprocess.Drive
	l *Layer
}

// Wait waits for d at most, and returns what there is to say; ok is false where there is
// nothing yet.
func (t *Ticket) Wait(d time.Duration) (Reply, bool) {
	switch step, said := t.Drive.Wait(d); said {
	case inprocess.Wanted:
		if step.Kind == engine.Hit {
			return served(step.Artifact), true
		}
		return Reply{Action: front.Build}, true
	case inprocess.Failed:
		return Reply{Action: front.Pass, Reason: t.l.door.PassFailed(t.Err())}, true
	case inprocess.Late:
		return t.l.pass(reason.PassedBusy, "waited too long"), true
	case inprocess.Over:
		return Reply{Action: front.Pass, Reason: "there is nothing to wait for"}, true
	default:
		return Reply{}, false
	}
}

// errRefused says that the driver did not take an artifact.
var errRefused = errors.New("the driver refused it")

// Next takes how it ended, and says what follows: Build for what the driver refused,
// else Done. Where ok is false, Wait tells. After End nothing is taken.
func (t *Ticket) Next(o *Outcome) (Reply, bool) {
	step, ok := t.Current()
	switch hit := step.Kind == engine.Hit; {
	case !ok:
		t.End()
		return Reply{Action: front.Pass, Reason: errRequest.Error()}, true
	case hit && o.Result == front.Refused:
		t.Rejected(errRefused)
		return t.Wait(atOnce)
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
	return Reply{Action: front.Done}, true
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
