package kernstash

import (
	"context"
	"fmt"
	"time"

	"github.com/kernstash/kernstash/internal/engine"
	"github.com/kernstash/kernstash/internal/settings"
	"github.com/kernstash/kernstash/spool"
	"github.com/kernstash/kernstash/stats"
)

// What a door needs that stands between an application and a driver, and builds
// nothing itself: package gpu/opencl/layer.

// Count adds to what the Cache counts: what a door did not ask it for.
func (c *Cache) Count(counter stats.Counter, n int64) { c.stats.Add(counter, n) }

// KeepStats adds what was counted to the totals on disk. Close does so too; it
// is for a process that ends without, and costs a few system calls.
func (c *Cache) KeepStats() {
	if c.engine.Writes() {
		c.keepStats()
	}
}

// FlushArtifacts is Flush, but for the contents of header files: an artifact is good
// without them.
func (c *Cache) FlushArtifacts(timeout time.Duration) bool {
	return c.flush(time.Now().Add(timeout), c.engine.FlushArtifacts)
}

// Writes reports whether there is a disk tier that may be written, so that artifacts
// outlive the process.
func (c *Cache) Writes() bool { return c.settings.Persistent && c.engine.Writes() }

// Observes reports whether what is built is compared with what is stored, and nothing served.
func (c *Cache) Observes() bool { return c.settings.Mode == settings.ModeObserve }

// Reads reports whether there is a disk tier, or a read-only layer, to restore from.
func (c *Cache) Reads() bool { return c.settings.Persistent && len(c.stores) > 0 }

// Awaiting notes that a build of this process, which may hold its build lock,
// waits for the application, until done is called, once. Meanwhile no build of
// this process waits for another process: two of them could wait for each other.
func (c *Cache) Awaiting() (done func()) {
	return c.engine.Awaiting()
}

// AddJob leaves work for the worker; see spool.Add. Header files that a recipe
// names are kept when it is built. In mode refresh what is stored makes place for what
// the worker will build, once for each recipe: it would leave that as it is.
func (c *Cache) AddJob(ctx context.Context, j spool.Job) (spool.Result, error) {
	jobs, ok := c.written.(spool.Store)
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
	if _, ok := c.written.(spool.Store); !ok || !c.engine.Writes() {
		return Jobs{Policy: settings.WorkerOff}
	}
	return Jobs{c.written, c.settings.Worker, c.settings.Variables("max-size", "threshold", "eviction"), c.trace.disk}
}

// Warn tells the trace of something that is not as it should be.
func (c *Cache) Warn(msg string, args ...any) { c.trace.warn(msg, args...) }
