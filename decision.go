package kernstash

import (
	"errors"
	"time"

	"github.com/kernstash/kernstash/key"
	"github.com/kernstash/kernstash/store"
)

// Decision is what became of a program for one group of equal devices that was
// asked for and was not in memory.
type Decision struct {
	Key     key.Key // zero where it cannot be cached
	Devices []int   // of the context
	Size    int64   // bytes of the device image

	Origin   Origin // zero: it failed
	Err      error  // why it failed; a *BuildError is the compiler's verdict
	Reason   string // of Compiled: why it was not restored
	Nearest  string // of Compiled: what the nearest entry differs in; "" where that was not looked for
	Observed string // mode observe: "equal", "different" or "incomparable", of an entry that was there

	Spent   time.Duration // loading or compiling
	Saved   time.Duration // of Disk: the recorded cost of the build, less Spent
	Bytes   int64         // of Disk: of the artifact
	Kernels []string      // as far as known
}

// decision is one that is not told yet.
type decision struct {
	Decision
	to func(Decision)
}

// tell tells it, with what the nearest entry differs in. d may be nil.
func (d *decision) tell(nearest string) {
	if d != nil {
		d.Nearest = nearest
		d.to(d.Decision)
	}
}

// decide tells what became of a unit.
func (x *Context[P, K]) decide(u *unit[P, K], d Decision) {
	x.decisionLater(u, d)()
}

// decisionLater is decide when what it returns is called, unless somebody else
// has taken the decision by then, who knows more.
func (x *Context[P, K]) decisionLater(u *unit[P, K], d Decision) (tell func()) {
	if x.options.Decided == nil {
		return func() {}
	}
	d.Key, d.Devices, d.Size = u.key, u.live.Devices(), u.job.Recipe.Image.Size()
	if d.Origin != Disk {
		d.Reason = u.against.String()
		if u.against.None() {
			d.Reason = u.missed.String()
		}
	}
	if u.observed != nil {
		d.Observed = string(incomparable)
	}
	u.decision = &decision{d, x.options.Decided}
	return func() {
		u.decision.tell("")
		u.decision = nil
	}
}

// kernelNames returns the names of an artifact's kernels; nil for none.
func kernelNames(a *store.Artifact) []string {
	if a == nil {
		return nil
	}
	names := make([]string, len(a.Kernels))
	for i, k := range a.Kernels {
		names[i] = k.Name
	}
	return names
}

// delegates says whether another process makes a job's artifact.
func (x *Context[P, K]) delegates(job Job) bool {
	d, ok := any(x.rt).(Delegator)
	return ok && d.Delegates(job)
}

// errReadOnly is wrapped where there is no disk tier to write to.
var errReadOnly = errors.New("the disk tier is off, or not written")
