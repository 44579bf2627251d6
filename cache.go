package kernstash

import (
	"fmt"
	"time"

	"github.com/kernstash/kernstash/internal/cache"
	"github.com/kernstash/kernstash/stats"
)

// Cache holds what all contexts of a process share: the stores, the settings,
// the statistics. It is safe for concurrent use.
type Cache cache.Cache

// Open returns a Cache. It touches neither disk nor driver: each tier is
// opened when it is first needed, and one that cannot be opened is off, with a
// reason that `kernstash doctor` and the trace show. The only error is a
// setting that makes no sense; it names the variable and the value. A name in the
// environment that is likely to be a setting's, misspelt, is said once on standard
// error, and has the meaning that Options.Lenient describes.
func Open(o Options) (*Cache, error) {
	c, err := cache.Open(o.cache())
	return (*Cache)(c), err
}

func (c *Cache) cache() *cache.Cache { return (*cache.Cache)(c) }

// Stats returns what this Cache counted since it was opened.
func (c *Cache) Stats() stats.Snapshot { return c.cache().Stats() }

// Flush waits until everything that was built or launched so far has been
// stored, at most for timeout. False: something was still under way. Captures
// wait for a pause in the launches, so Flush may too.
func (c *Cache) Flush(timeout time.Duration) bool { return c.cache().Flush(timeout) }

// DroppedError says what Close left undone because its time was over. The
// programs will be built again by the next process; nothing else is lost.
type DroppedError struct {
	Timeout  time.Duration
	Captures []string // programs whose code was not captured
	Stores   int      // artifacts that were not written
}

func (e *DroppedError) Error() string {
	return fmt.Sprintf("close cache: not stored within %v: %d captures %q, %d artifacts",
		e.Timeout, len(e.Captures), e.Captures, e.Stores)
}

// Close closes all contexts of the Cache: it waits for builds in flight, then
// for captures and stores under way, at most for the setting close-timeout
// (5 s), and writes the statistics. It returns a *DroppedError if something was
// left undone. Closing again waits for the first Close, and returns nil.
func (c *Cache) Close() error {
	captures, artifacts := c.cache().Close()
	if len(captures) == 0 && artifacts == 0 {
		return nil
	}
	return &DroppedError{Timeout: c.cache().Settings().CloseTimeout, Captures: captures, Stores: artifacts}
}

// Jobs are what a Cache leaves to be done by a worker, in a process of its own.
type Jobs = cache.Jobs

// Starter sees that somebody does the jobs that a Cache leaves. Package worker has one.
type Starter = cache.Starter
