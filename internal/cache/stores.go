package cache

import (
	"github.com/kernstash/kernstash/internal/contents"
	"github.com/kernstash/kernstash/internal/settings"
	"github.com/kernstash/kernstash/store"
	"github.com/kernstash/kernstash/store/disk"
	"github.com/kernstash/kernstash/store/memory"
)

// Store is what the store has to offer that a Cache writes. What else package store
// names, it may offer.
type Store interface {
	store.Store
	store.Locker
}

// maxInProcess bounds the bytes of artifacts that are kept in the process where there is
// no disk tier, nor a limit of what is kept in memory.
const maxInProcess = 64 << 20

// Disk is a Store that is on disk.
type Disk interface {
	Store
	contents.Shared
	Close() error
}

// openStores opens what the settings name. Nothing else here knows what kind of store
// it is.
func (c *Cache) openStores() {
	switch set := c.settings; {
	case set.Disable:
	case set.Persistent:
		c.openDisks()
	case set.InMemory && set.InMemEvictionThreshold == 0 && set.Mode != settings.ModeReadOnly:
		own := memory.New(memory.Options{MaxSize: maxInProcess, Recorder: c.stats})
		c.written, c.stores = own, []store.Store{own}
		c.end = append(c.end, own.Clear)
	}
}

func (c *Cache) openDisks() {
	policy := disk.Cost
	if c.settings.Eviction == settings.EvictLRU {
		policy = disk.LRU
	}
	if c.settings.Dir != "" {
		readOnly := c.settings.Mode == settings.ModeReadOnly
		own := c.newDisk(disk.Options{
			Dir: c.settings.Dir, MaxSize: c.settings.MaxSize, Policy: policy, ReadOnly: readOnly, Recorder: c.stats, Trace: c.log.Disk,
		})
		c.addDisk(own, !readOnly)
		c.written = own
	} else {
		c.log.Warn("disk tier off", "reason", "no directory: neither KERNSTASH_DIR nor a home directory is set")
	}
	for _, dir := range c.settings.Layers {
		c.addDisk(disk.New(disk.Options{Dir: dir, ReadOnly: true, Recorder: c.stats, Trace: c.log.Disk}), false)
	}
}

// addDisk adds a store on disk. shares says that others learn from it what compilers
// this process has read.
func (c *Cache) addDisk(s Disk, shares bool) {
	contents.Share(s, shares)
	c.stores = append(c.stores, s)
	c.end = append(c.end, func() {
		contents.Unshare(s)
		if err := s.Close(); err != nil {
			c.log.Warn("close disk tier", "error", err.Error())
		}
	})
}
