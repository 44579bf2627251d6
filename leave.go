package kernstash

import (
	"context"
	"log/slog"
	"os"

	"github.com/kernstash/kernstash/internal/engine"
	"github.com/kernstash/kernstash/key"
	"github.com/kernstash/kernstash/spool"
	"github.com/kernstash/kernstash/store"
)

// maxLeave bounds the captures that one Close leaves to the worker: each is a file.
const maxLeave = 64

// leaving is a capture that this process has no time for.
type leaving struct {
	recipe   *key.Recipe
	launched []string
	deferral *engine.Deferral
}

// leaving returns what the worker must know to capture a unit. It is called with
// c.mu held.
func (c *captures[P, K]) leaving(u *unit[P, K]) leaving {
	s := &u.capture
	return leaving{u.group.Job().Recipe, append([]string(nil), s.launched...), s.deferral}
}

// leave leaves captures to the worker, and starts one if the settings say so. Only
// programs of APIs that it builds are left.
func (c *Cache) leave(all []leaving) {
	if !c.Writes() {
		return
	}
	dir, _ := os.Getwd() // "": not known
	waits := false
	for _, l := range all[:min(len(all), maxLeave)] {
		if l.recipe == nil || l.recipe.Device.API != "opencl" || len(l.launched) == 0 {
			continue
		}
		res, err := c.AddJob(context.Background(), spool.Job{
			Kind: spool.Capture, Recipe: l.recipe, Variants: l.launched, Cost: l.deferral.Cost(),
			Environment: spool.Take(os.Environ(), l.recipe, dir), Headers: l.deferral.Headers(),
		})
		if err != nil {
			on(c.trace.disk, func(t *slog.Logger) { t.Info("not left to the worker", "reason", err.Error()) })
		}
		waits = waits || res.Waits()
	}
	if waits && c.newStarter != nil {
		c.starting.Do(func() { c.starter = c.newStarter(c.Jobs()) })
		if c.starter != nil {
			c.starter.Start()
		}
	}
}

// Jobs are what a Cache leaves to be done by a worker, in a process of its own.
type Jobs struct {
	Store    store.Store  // has them
	Policy   string       // the setting worker: off, inline or auto
	Settings []string     // which the worker shares with the Cache, as variables
	Trace    *slog.Logger // may be nil
}

// Starter sees that somebody does the jobs that a Cache leaves. Package worker has one.
type Starter interface {
	// Start starts a worker if there is none. It is called when there are jobs, and
	// not on the application's path. It may be called by several goroutines.
	Start()

	// Close ends a worker that runs in this process. No Start follows.
	Close()
}
