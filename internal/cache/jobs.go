package cache

import (
	"context"
	"fmt"
	"log/slog"

	"github.com/kernstash/kernstash/internal/engine"
	"github.com/kernstash/kernstash/internal/settings"
	"github.com/kernstash/kernstash/spool"
	"github.com/kernstash/kernstash/store"
)

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

// AddJob leaves work for the worker; see spool.Add. Header files that a recipe
// names are kept when it is built. In mode refresh what is stored makes place for what
// the worker will build, once for each recipe: it would leave that as it is.
func (c *Cache) AddJob(ctx context.Context, j spool.Job) (spool.Result, error) {
	jobs, ok := c.near.(spool.Store)
	if !ok || !c.engine.Writes() {
		return spool.Dropped, fmt.Errorf("add job: %w", engine.ErrReadOnly)
	}
	res, err := spool.Add(ctx, jobs, j, c.stats)
	if c.settings.Mode == settings.ModeRefresh && j.Kind == spool.Capture && err == nil && res.Waits() {
		if _, done := c.refreshed.LoadOrStore(j.Key(), true); !done {
			err = c.written.Delete(ctx, j.Key())
		}
	}
	return res, err
}

// Jobs returns where such jobs are, and who is to do them.
func (c *Cache) Jobs() Jobs {
	if _, ok := c.near.(spool.Store); !ok || !c.engine.Writes() {
		return Jobs{Policy: settings.WorkerOff}
	}
	return Jobs{c.near, c.settings.Worker, c.settings.Variables(c.settings.Workers()...), c.log.Disk}
}

// upload has a worker put an entry where other machines find it: this process speaks to no
// remote. The agent, where there is one, has got it.
func (c *Cache) upload(e *store.Entry) {
	if c.agent != nil && c.agent.Present() {
		return
	}
	res, err := c.AddJob(context.Background(), spool.Job{Kind: spool.Upload, Recipe: e.Recipe, Cost: e.Artifact.Cost})
	switch {
	case err != nil:
		c.log.Disk.Debug("not to be uploaded", "key", e.Key.Short(), "reason", err.Error())
	case res.Waits():
		c.Start()
	}
}

// Start starts a worker for such jobs, if there is a Starter. After Close it does nothing.
func (c *Cache) Start() {
	if c.newStarter == nil {
		return
	}
	c.starting.Lock()
	defer c.starting.Unlock()
	if c.ended {
		return
	}
	if c.starter == nil {
		c.starter = c.newStarter(c.Jobs())
	}
	if c.starter != nil {
		c.starter.Start()
	}
}

// closeStarter ends what Start has started, and what is under way of it.
func (c *Cache) closeStarter() {
	c.starting.Lock()
	defer c.starting.Unlock()
	if c.ended = true; c.starter != nil {
		c.starter.Close()
	}
}
