package kernstash

import (
	"context"
	"os"

	"github.com/kernstash/kernstash/internal/cache"
	"github.com/kernstash/kernstash/internal/engine"
	"github.com/kernstash/kernstash/key"
	"github.com/kernstash/kernstash/spool"
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

// delegator is a Capturer whose captures a worker can make as well.
type delegator interface{ Delegates() bool }

// leave leaves captures to the worker, and starts one if the settings say so.
func leave(c *cache.Cache, all []leaving) {
	if !c.Writes() {
		return
	}
	dir, _ := os.Getwd() // "": not known
	waits := false
	for _, l := range all[:min(len(all), maxLeave)] {
		if l.recipe == nil || len(l.launched) == 0 {
			continue
		}
		res, err := c.AddJob(context.Background(), spool.Job{
			Kind: spool.Capture, Recipe: l.recipe, Variants: l.launched, Cost: l.deferral.Cost(),
			Environment: spool.Take(os.Environ(), l.recipe, dir), Headers: l.deferral.Headers(),
		})
		if err != nil {
			if t := c.Loggers().Disk; t != nil {
				t.Info("not left to the worker", "reason", err.Error())
			}
		}
		waits = waits || res.Waits()
	}
	if waits {
		c.Start()
	}
}
