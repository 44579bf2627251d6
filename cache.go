package kernstash

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/kernstash/kernstash/internal/contents"
	"github.com/kernstash/kernstash/internal/engine"
	"github.com/kernstash/kernstash/internal/settings"
	"github.com/kernstash/kernstash/stats"
	"github.com/kernstash/kernstash/store"
)

// Cache holds what all contexts of a process share: the stores, the settings,
// the statistics. It is safe for concurrent use.
type Cache struct {
	settings   *settings.Settings
	written    writtenStore  // what is built is stored there, unless the mode forbids it; nil: nowhere
	stores     []store.Store // asked in order: written, then read-only layers
	endStores  []func()      // close them
	engine     *engine.Engine
	newStarter func(Jobs) Starter // may be nil
	starting   sync.Once
	starter    Starter // nil: nothing was left
	trace      tracer
	traceTo    io.Closer

	counters stats.Counters
	stats    stats.Recorder

	refreshed sync.Map // keys of jobs in mode refresh

	closing  sync.Once
	mu       sync.Mutex
	closed   bool
	contexts map[contextCloser]struct{}
	kept     stats.Snapshot // what has been written to disk already
	keptAt   atomic.Int64   // when, in Unix seconds
}

// contextCloser is a Context of any types.
type contextCloser interface {
	shut()
	close(deadline time.Time) []string
	flush(deadline time.Time) bool
	memoryHits() int64
}

// Open returns a Cache. It touches neither disk nor driver: each tier is
// opened when it is first needed, and one that cannot be opened is off, with a
// reason that `kernstash doctor` and the trace show. The only error is a
// setting that makes no sense; it names the variable and the value. A name in the
// environment that is likely to be a setting's, misspelt, is said once on standard
// error, and has the meaning that Options.Lenient describes.
func Open(o Options) (*Cache, error) {
	set, err := o.load()
	if err != nil {
		return nil, fmt.Errorf("open cache: %w", err)
	}
	c := &Cache{settings: set, newStarter: o.Starter, contexts: make(map[contextCloser]struct{})}
	c.stats = &c.counters
	if o.Recorder != nil {
		c.stats = stats.Tee(&c.counters, o.Recorder)
	}
	if o.Ahead {
		c.stats = unsaved{c.stats}
	}
	c.trace, c.traceTo = newTracer(set, o.Logger)
	for _, w := range set.Warnings {
		c.trace.warn("setting cannot be used", "warning", w.Error())
	}
	for _, w := range set.Unsaid() {
		say(w.Error())
	}
	c.openStores()
	c.engine = engine.New(c.engineOptions())
	c.keptAt.Store(time.Now().Unix())
	return c, nil
}

// engineOptions returns what the engine works with.
func (c *Cache) engineOptions() engine.Options {
	o := engine.Options{
		Settings: c.settings, Layers: c.stores, Recorder: c.stats,
		Loggers: engine.Loggers{Disk: c.trace.disk, Memory: c.trace.memory, Keys: c.trace.keys},
	}
	if c.written != nil {
		o.Store, o.Layers = c.written, c.stores[1:]
		if c.settings.Persistent {
			o.Blobs = c.written // what only later processes need
		}
	}
	return o
}

// unsaved is a Recorder that forgets time saved.
type unsaved struct{ stats.Recorder }

func (r unsaved) Add(c stats.Counter, n int64) {
	if c != stats.SavedTime {
		r.Recorder.Add(c, n)
	}
}

// Stats returns what this Cache counted since it was opened.
func (c *Cache) Stats() stats.Snapshot {
	s := c.counters.Snapshot()
	c.mu.Lock()
	defer c.mu.Unlock()
	for x := range c.contexts {
		s[stats.MemoryHits] += x.memoryHits()
	}
	return s
}

// Flush waits until everything that was built or launched so far has been
// stored, at most for timeout. False: something was still under way. Captures
// wait for a pause in the launches, so Flush may too.
func (c *Cache) Flush(timeout time.Duration) bool {
	return c.flush(time.Now().Add(timeout), c.engine.Flush)
}

func (c *Cache) flush(deadline time.Time, stored func(time.Time) bool) bool {
	captured := true
	for _, x := range c.openContexts() {
		captured = x.flush(deadline) && captured
	}
	return stored(deadline) && captured
}

func (c *Cache) openContexts() []contextCloser {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Collect(maps.Keys(c.contexts))
}

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
func (c *Cache) Close() (err error) {
	c.closing.Do(func() { err = c.end() })
	return err
}

func (c *Cache) end() error {
	c.mu.Lock()
	c.closed = true
	c.mu.Unlock()
	contexts := c.openContexts()
	for _, x := range contexts {
		x.shut()
	}
	deadline := time.Now().Add(c.settings.CloseTimeout)
	dropped := &DroppedError{Timeout: c.settings.CloseTimeout}
	for _, x := range contexts {
		dropped.Captures = append(dropped.Captures, x.close(deadline)...)
	}
	dropped.Stores = c.engine.Close(deadline)
	if c.starter != nil {
		c.starter.Close()
	}

	var errs []error
	if c.settings.Persistent && (len(dropped.Captures) > 0 || dropped.Stores > 0) {
		errs = append(errs, dropped)
	}
	if c.engine.Writes() {
		c.keepStats()
	}
	for _, end := range c.endStores {
		end()
	}
	if c.traceTo != nil {
		_ = c.traceTo.Close() // the application's end must not fail for a trace
	}
	return errors.Join(errs...)
}

// keepEvery is how often a process writes what it counted: what one that is
// killed loses at most, while it builds or loads.
const keepEvery = 60

// keepStatsNowAndThen is called after a build or a load; it writes in the
// background.
func (c *Cache) keepStatsNowAndThen() {
	now, last := time.Now().Unix(), c.keptAt.Load()
	if c.engine.Writes() && now-last >= keepEvery && c.keptAt.CompareAndSwap(last, now) {
		go c.keepStats()
	}
}

// keepStats adds what was counted since the last time to the totals on disk.
func (c *Cache) keepStats() {
	totals, ok := c.written.(store.Totals)
	if !ok {
		return
	}
	now := c.Stats()
	c.mu.Lock()
	delta := now.Sub(c.kept)
	c.kept = now
	c.mu.Unlock()
	if delta == (stats.Snapshot{}) {
		return
	}
	if err := totals.AddStats(delta); err != nil {
		c.trace.warn("statistics not kept", "error", err.Error())
		return
	}
	contents.Save()
}

// register adds a context; false when the cache is closed.
func (c *Cache) register(x contextCloser) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return false
	}
	c.contexts[x] = struct{}{}
	return true
}

// unregister removes a context and takes its hits over.
func (c *Cache) unregister(x contextCloser) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if _, ok := c.contexts[x]; ok {
		delete(c.contexts, x)
		c.counters.Add(stats.MemoryHits, x.memoryHits())
	}
}
