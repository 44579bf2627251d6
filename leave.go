package kernstash

import (
	"context"
	"log/slog"
	"os"
	"sync"
	"time"

	"github.com/kernstash/kernstash/key"
	"github.com/kernstash/kernstash/worker"
	"github.com/kernstash/kernstash/worker/spool"
)

// maxLeave bounds the captures that one Close leaves to the worker: each is a file.
const maxLeave = 64

// leaving is a capture that this process has no time for.
type leaving struct {
	recipe   *key.Recipe
	launched []string
	cost     time.Duration
	headers  map[key.Digest][]byte
}

// leaving returns what the worker must know to capture a unit. It is called with
// c.mu held.
func (c *captures[P, K]) leaving(u *unit[P, K]) leaving {
	s := &u.capture
	return leaving{u.job.Recipe, append([]string(nil), s.launched...), s.cost, u.tracked.take()}
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
			Kind: spool.Capture, Recipe: l.recipe, Variants: l.launched, Cost: l.cost,
			Environment: spool.Take(os.Environ(), l.recipe, dir), Headers: c.headerContents(l.recipe, l.headers, nil),
		})
		if err != nil {
			on(c.trace.disk, func(t *slog.Logger) { t.Info("not left to the worker", "reason", err.Error()) })
		}
		waits = waits || res.Waits()
	}
	if waits {
		c.worker.get(c).Start()
	}
}

// starting sees that what is left is done.
type starting struct {
	once    sync.Once
	starter *worker.Starter
}

func (s *starting) get(c *Cache) *worker.Starter {
	s.once.Do(func() {
		store, policy, shared := c.Worker()
		s.starter = worker.NewStarter(worker.StartOptions{
			Store: store, Policy: policy, Settings: shared, Environ: os.Environ(), Trace: c.trace.disk,
		})
	})
	return s.starter
}

// close ends a worker in this process. It is called when no context is left.
func (s *starting) close() {
	if s.starter != nil {
		s.starter.Close()
	}
}
