package layer

import (
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/kernstash/kernstash"
	"github.com/kernstash/kernstash/internal/runlog"
)

// report writes an event for `kernstash run`, if it listens.
func (l *Layer) report(e runlog.Event, door string) {
	if l.log == nil {
		return
	}
	e.Door = door
	e.Exe, _ = os.Executable()
	_ = l.log.Write(e) // nobody's concern
}

// decided takes a decision of the core.
func (l *Layer) decided(d kernstash.Decision, door string) {
	l.keeper.Poke()
	if l.log == nil || errors.Is(d.Err, kernstash.ErrAbandoned) {
		return
	}
	e := runlog.Event{
		Kind: runlog.Asked, Label: label(d), Reason: d.Reason, Nearest: d.Nearest,
		Observed: runlog.Observed(d.Observed), Spent: d.Spent, Saved: d.Saved, Bytes: d.Bytes,
	}
	if !d.Key.IsZero() {
		e.Key = d.Key.Short()
	}
	if d.Observed == "incomparable" {
		e.Observed = runlog.Unknown
	}
	switch {
	case d.Err != nil:
		e.Outcome, e.Reason = runlog.Failed, "the compiler refused it"
		var diagnostic *kernstash.BuildError
		if !errors.As(d.Err, &diagnostic) {
			e.Reason = d.Err.Error()
		}
	case d.Origin == kernstash.Disk:
		e.Outcome = runlog.Disk
	default:
		e.Outcome = runlog.Compiled
	}
	l.report(e, door)
}

// label names a program for people.
func label(d kernstash.Decision) string {
	if len(d.Kernels) == 0 {
		return fmt.Sprintf("%d bytes", d.Size)
	}
	return strings.Join(d.Kernels, ", ")
}
