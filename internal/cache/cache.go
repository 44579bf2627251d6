// Package cache opens what all contexts of a process share: the settings in force, the
// stores that they name, what is counted and traced, and the engine over them.
package cache

import (
	"cmp"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/kernstash/kernstash/agent/client"
	"github.com/kernstash/kernstash/internal/contents"
	"github.com/kernstash/kernstash/internal/engine"
	"github.com/kernstash/kernstash/internal/live"
	"github.com/kernstash/kernstash/internal/records"
	"github.com/kernstash/kernstash/internal/settings"
	"github.com/kernstash/kernstash/stats"
	"github.com/kernstash/kernstash/store"
	"github.com/kernstash/kernstash/store/disk"
)

// Options configure Open. The zero value works.
type Options struct {
	Settings settings.Inputs
	Ahead    bool                    // the caller is no application: it saves no time, and its hits are no use of entries
	Starter  func(Jobs) Starter      // may be nil
	Recorder stats.Recorder          // takes what is counted, besides Cache.Stats; may be nil
	Logger   *slog.Logger            // takes traces; nil: standard error, or the file that the settings name
	App      string                  // whom records name; "": the process's program
	Disk     func(disk.Options) Disk // opens the store that is written; nil: disk.New
}

// Cache is safe for concurrent use.
type Cache struct {
	settings *settings.Settings
	ahead    bool           // the caller is no application
	written  Store          // what is built is stored there, unless the mode forbids it; nil: nowhere
	near     Store          // the part of written that is on this machine: the jobs are there
	agent    *client.Client // of the node, behind written; nil: none is asked
	layers   []store.Store  // read-only, asked in order behind written
	end      []func()       // close the stores
	engine   *engine.Engine
	log      engine.Loggers

	newStarter func(Jobs) Starter // may be nil
	starting   sync.Mutex         // for the next two
	ended      bool
	starter    Starter  // nil: nothing was left
	refreshed  sync.Map // keys of jobs in mode refresh

	counters stats.Counters
	stats    stats.Recorder

	records  *records.Log  // nil: nothing is recorded
	recorded store.Records // takes them

	closing sync.Once
	mu      sync.Mutex
	closed  bool
	tiers   map[Tier]struct{}
	kept    stats.Snapshot // what has been written to disk already
	keptAt  atomic.Int64   // when, in Unix seconds
	keeping sync.WaitGroup // those who write in the background
}

// Tier is the memory tier of one context.
type Tier interface {
	// Shut lets no request in any more, and waits for the builds in flight.
	Shut()

	// Close captures, until deadline, and releases what there is. It returns the
	// programs whose capture it dropped.
	Close(deadline time.Time) (dropped []string)

	// Flush waits until nothing is to be captured, at most until deadline.
	Flush(deadline time.Time) bool

	// Hits returns the requests that found a live program or kernel.
	Hits() int64
}

// Open returns a Cache. It touches neither disk nor driver: what cannot be opened when it
// is first needed is off, with a reason that the trace shows. The only error is a setting
// that makes no sense.
func Open(o Options) (*Cache, error) {
	set, err := load(o.Settings)
	if err != nil {
		return nil, fmt.Errorf("open cache: %w", err)
	}
	set.SwitchOff(func() string { return cmp.Or(o.App, records.Application()) })
	c := &Cache{settings: set, ahead: o.Ahead, newStarter: o.Starter, tiers: make(map[Tier]struct{})}
	c.stats = &c.counters
	if o.Recorder != nil {
		c.stats = stats.Tee(&c.counters, o.Recorder)
	}
	if o.Ahead {
		c.stats = unsaved{c.stats}
	}
	c.log = newLoggers(set, o.Logger)
	for _, w := range set.Warnings {
		c.log.Warn("setting cannot be used", "warning", w.Error())
	}
	for _, w := range set.Unsaid() {
		say(w.Error())
	}
	c.openStores(o.Disk)
	e := engine.Options{Settings: set, Layers: c.layers, Recorder: c.stats, Loggers: c.log}
	if kept, ok := c.near.(store.Records); ok && set.Records && !o.Ahead && set.Mode != settings.ModeReadOnly {
		c.records, c.recorded = records.New(o.App), kept
		e.Recorded = c.record
	}
	if len(set.Remote) > 0 {
		e.Stored = c.upload
	}
	if c.written != nil {
		e.Store = c.written
		e.Blobs, _ = c.written.(store.Blobs) // what only later processes need
	}
	c.engine = engine.New(e)
	c.keptAt.Store(time.Now().Unix())
	return c, nil
}

// load returns the settings in force. Where the environment says which directory, the
// program's limit, which was meant for its own, is not for that one.
func load(in settings.Inputs) (*settings.Settings, error) {
	s, err := settings.Load(in)
	if in.Program["dir"] == "" || s.Origin("dir").Source != settings.Environment {
		return s, err
	}
	in.Program = maps.Clone(in.Program)
	delete(in.Program, "max-size")
	delete(in.Program, "eviction")
	return settings.Load(in)
}

// unsaved is a Recorder that forgets time saved.
type unsaved struct{ stats.Recorder }

func (r unsaved) Add(c stats.Counter, n int64) {
	if c != stats.SavedTime {
		r.Recorder.Add(c, n)
	}
}

func (c *Cache) Engine() *engine.Engine       { return c.engine }   // over the stores
func (c *Cache) Settings() *settings.Settings { return c.settings } // in force
func (c *Cache) Recorder() stats.Recorder     { return c.stats }    // of what the Cache counts
func (c *Cache) Loggers() engine.Loggers      { return c.log }      // take traces
func (c *Cache) Store() Store                 { return c.written }  // that is written; nil: there is none

// MemoryLimits returns the options of the memory tiers of contexts.
func (c *Cache) MemoryLimits() live.Options {
	o := live.Options{MaxBytes: c.settings.InMemEvictionThreshold, MaxPrograms: c.settings.InMemCapacity, Recorder: c.stats}
	if !c.settings.InMemory || c.settings.Disable {
		o.MaxPrograms = 0
	}
	return o
}

// Writes reports whether there is a disk tier that may be written, so that artifacts
// outlive the process.
func (c *Cache) Writes() bool { return c.settings.Persistent && c.engine.Writes() }

// Reads reports whether there is a disk tier, or a read-only layer, to restore from.
func (c *Cache) Reads() bool { return c.settings.Persistent && c.engine.Reads() }

// Observes reports whether what is built is compared with what is stored, and nothing served.
func (c *Cache) Observes() bool { return c.settings.Mode == settings.ModeObserve }

// Register adds a memory tier; false: the cache is closed.
func (c *Cache) Register(t Tier) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return false
	}
	c.tiers[t] = struct{}{}
	return true
}

// Unregister removes a memory tier and takes its hits over.
func (c *Cache) Unregister(t Tier) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if _, ok := c.tiers[t]; ok {
		delete(c.tiers, t)
		c.counters.Add(stats.MemoryHits, t.Hits())
	}
}

func (c *Cache) openTiers() []Tier {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Collect(maps.Keys(c.tiers))
}

// Flush waits until everything that was built or launched so far has been stored, at most
// for timeout. False: something was still under way.
func (c *Cache) Flush(timeout time.Duration) bool { return c.flush(timeout, c.engine.Flush) }

// FlushArtifacts is Flush, but for the contents of header files: an artifact is good
// without them.
func (c *Cache) FlushArtifacts(timeout time.Duration) bool {
	return c.flush(timeout, c.engine.FlushArtifacts)
}

func (c *Cache) flush(timeout time.Duration, stored func(deadline time.Time) bool) bool {
	deadline, captured := time.Now().Add(timeout), true
	for _, t := range c.openTiers() {
		captured = t.Flush(deadline) && captured
	}
	return stored(deadline) && captured
}

// Close closes all memory tiers, waits for what is under way, at most for the setting
// close-timeout, writes the statistics and closes the stores. It returns the programs
// whose capture was dropped, and how many artifacts were not written. Closing again waits
// for the first Close, and returns none.
func (c *Cache) Close() (captures []string, artifacts int) {
	c.closing.Do(func() { captures, artifacts = c.close() })
	return captures, artifacts
}

func (c *Cache) close() (captures []string, artifacts int) {
	c.mu.Lock()
	c.closed = true
	c.mu.Unlock()
	tiers := c.openTiers()
	for _, t := range tiers {
		t.Shut()
	}
	deadline := time.Now().Add(c.settings.CloseTimeout)
	for _, t := range tiers {
		captures = append(captures, t.Close(deadline)...)
	}
	artifacts = c.engine.Close(deadline)
	c.closeStarter()
	c.keeping.Wait()
	c.keepRecords(true)
	c.KeepStats()
	for _, end := range c.end {
		end()
	}
	if !c.settings.Persistent {
		return nil, 0 // nothing outlives the process
	}
	return captures, artifacts
}

// Warn tells the trace of something that is not as it should be.
func (c *Cache) Warn(msg string, args ...any) { c.log.Warn(msg, args...) }

// Count adds to what the Cache counts.
func (c *Cache) Count(counter stats.Counter, n int64) { c.stats.Add(counter, n) }

// Stats returns what this Cache counted since it was opened.
func (c *Cache) Stats() stats.Snapshot {
	s := c.counters.Snapshot()
	c.mu.Lock()
	defer c.mu.Unlock()
	for t := range c.tiers {
		s[stats.MemoryHits] += t.Hits()
	}
	return s
}

// keepEvery is how many seconds lie between two writes of what a process counts: what one
// that is killed loses at most, while it builds or loads.
const keepEvery = 60

// KeepStatsSometimes is called after a build or a load; it writes in the background what was
// counted, now and then.
func (c *Cache) KeepStatsSometimes() {
	now, last := time.Now().Unix(), c.keptAt.Load()
	if c.engine.Writes() && now-last >= keepEvery && c.keptAt.CompareAndSwap(last, now) {
		c.mu.Lock()
		defer c.mu.Unlock()
		if !c.closed { // Close does it
			c.keeping.Go(c.KeepStats)
		}
	}
}

// KeepStats adds what was counted to the totals on disk, and what was recorded to the records. Close does so too; it is
// for a process that ends without, and costs a few system calls. The totals come first: where the process ends in between,
// no application has saved more than all together.
func (c *Cache) KeepStats() {
	counted := c.keepTotals()
	c.keepRecords(false)
	if counted {
		contents.Save()
	}
}

// keepTotals adds what was counted to the totals on disk, and reports whether there was anything.
func (c *Cache) keepTotals() bool {
	totals, ok := c.written.(store.Totals)
	if !ok || !c.engine.Writes() {
		return false
	}
	now := c.Stats()
	c.mu.Lock()
	delta := now.Sub(c.kept)
	c.kept = now
	c.mu.Unlock()
	if c.ahead {
		delta[stats.MemoryHits], delta[stats.DiskHits], delta[stats.LoadTime] = 0, 0, 0
	}
	if delta == (stats.Snapshot{}) {
		return false
	}
	if err := totals.AddStats(delta); err != nil {
		c.log.Warn("statistics not kept", "error", err.Error())
		return false
	}
	return true
}
