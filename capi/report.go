//go:build linux && cgo

package main

import (
	"errors"
	"os"
	"time"

	"github.com/kernstash/kernstash"
	"github.com/kernstash/kernstash/internal/engine"
	"github.com/kernstash/kernstash/internal/runlog"
	"github.com/kernstash/kernstash/store"
)

// report writes an event for `kernstash run`, if it listens.
func (d *door) report(e runlog.Event) {
	if d.log == nil {
		return
	}
	e.Door = "c"
	e.Exe, _ = os.Executable()
	_ = d.log.Write(e) // nobody's concern
}

// decided tells what the core decided of a get-or-build.
func (d *door) decided(c engine.Decision) {
	if d.log == nil {
		return
	}
	e := runlog.Event{
		Kind: runlog.Asked, Outcome: runlog.Compiled, Reason: c.Reason, Nearest: c.Nearest,
		Observed: runlog.Observed(c.Observed), Spent: c.Spent, Saved: c.Saved, Bytes: c.Bytes,
	}
	if !c.Key.IsZero() {
		e.Key = c.Key.Short()
	}
	var diagnostic *kernstash.BuildError
	switch {
	case errors.As(c.Err, &diagnostic):
		e.Outcome, e.Reason = runlog.Failed, "the compiler refused it"
	case c.Err != nil:
		e.Outcome, e.Reason = runlog.Failed, c.Err.Error()
	case c.Origin == engine.Disk:
		e.Outcome = runlog.Disk
	}
	d.report(e)
}

// found tells of a lookup that found something; a miss is told when it populates.
func (d *door) found(a *store.Artifact, took time.Duration) {
	d.report(runlog.Event{
		Kind: runlog.Asked, Outcome: runlog.Disk, Spent: took, Saved: max(a.Cost-took, 0), Bytes: a.Size(),
	})
}
