package cache

import (
	"time"

	"github.com/kernstash/kernstash/internal/contents"
	"github.com/kernstash/kernstash/stats"
	"github.com/kernstash/kernstash/store"
)

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
		go c.KeepStats()
	}
}

// KeepStats adds what was counted to the totals on disk. Close does so too; it is for a
// process that ends without, and costs a few system calls.
func (c *Cache) KeepStats() {
	totals, ok := c.written.(store.Totals)
	if !ok || !c.engine.Writes() {
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
		c.log.Warn("statistics not kept", "error", err.Error())
		return
	}
	contents.Save()
}
