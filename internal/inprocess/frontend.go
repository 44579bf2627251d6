package inprocess

import (
	"errors"
	"os"
	"time"

	"github.com/kernstash/kernstash/internal/engine"
	"github.com/kernstash/kernstash/internal/runlog"
	"github.com/kernstash/kernstash/reason"
	"github.com/kernstash/kernstash/stats"
)

// FrontEnd is where the host's requests of one kind come in: what becomes of them is told
// under its name.
type FrontEnd struct {
	*Instance
	Reporter
}

// FrontEnd returns the front end of a name.
func (in *Instance) FrontEnd(name string) FrontEnd { return FrontEnd{in, Reporter{in.log, name}} }

// Reporter tells `kernstash run` of requests.
type Reporter struct {
	Log  *runlog.Log // nil: nobody listens
	Name string      // of the front end
}

// Report writes an event, if anybody listens.
func (r Reporter) Report(e runlog.Event) {
	if r.Log == nil {
		return
	}
	e.FrontEnd = r.Name
	e.Exe, _ = os.Executable()
	_ = r.Log.Write(e) // nobody's concern
}

// Pass counts a request that is passed through.
func (d FrontEnd) Pass(why reason.Reason, detail string) {
	d.pass(why, detail, 0)
}

func (d FrontEnd) pass(why reason.Reason, detail string, waited time.Duration) {
	d.Cache.Count(stats.Of(why), 1)
	d.Report(runlog.Event{Kind: runlog.Asked, Outcome: runlog.Passed, Reason: detail, Waited: waited})
	d.Counted()
}

// passFailed is Pass for what the engine, or Guard, says of a request that began at a time.
func (d FrontEnd) passFailed(err error, since time.Time) {
	why, detail, waited := reason.PassedOther, err.Error(), time.Duration(0)
	switch {
	case errors.Is(err, ErrPanic):
		why = reason.PassedPanic
	case errors.Is(err, errBusy):
		why, waited = reason.PassedBusy, time.Since(since)
	case errors.Is(err, ErrRefused):
		detail = "the compiler refused it a moment ago" // the host is to see the compiler's own failure
	}
	d.pass(why, detail, waited)
}

// GivenUp tells of a request that was given up.
func (d FrontEnd) GivenUp() {
	d.Report(runlog.Event{Kind: runlog.Asked, Outcome: runlog.Passed, Reason: "given up"})
}

// errBusy is said where a request has waited for as long as it may.
var errBusy = errors.New("waited too long")

// ErrRefused is what the host's compiler says of a program.
var ErrRefused = errors.New("the compiler refused it")

// Decided tells of a decision of the engine, which has counted something.
func (d FrontEnd) Decided(of engine.Decision) {
	d.Counted()
	d.Reporter.Decided(of, of.Label())
}

// Decided tells of a decision of the engine, of a program that people know by a label.
func (r Reporter) Decided(of engine.Decision, label string) {
	if r.Log == nil {
		return
	}
	e := runlog.Event{
		Kind: runlog.Asked, Outcome: runlog.Compiled, Label: label, Reason: of.Reason, Nearest: of.Nearest,
		Observed: runlog.Observed(of.Observed), Ended: of.Ended.UTC(), Waited: of.Waited, Spent: of.Spent, Cost: of.Cost, Saved: of.Saved, Bytes: of.Bytes,
		Layer: of.Layer,
	}
	if !of.Key.IsZero() {
		e.Key = of.Key.Short()
	}
	if of.Observed == "incomparable" {
		e.Observed = runlog.Unknown
	}
	if e.Cost == e.Spent {
		e.Cost = 0
	}
	switch {
	case of.Err != nil:
		e.Outcome, e.Reason = runlog.Failed, of.Err.Error()
	case of.Origin == engine.Disk:
		e.Outcome = runlog.Disk
	case of.Origin == engine.Memory:
		e.Outcome = runlog.Memory
	}
	r.Report(e)
}
