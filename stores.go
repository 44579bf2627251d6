package kernstash

import (
	"github.com/kernstash/kernstash/internal/contents"
	"github.com/kernstash/kernstash/internal/settings"
	"github.com/kernstash/kernstash/store"
	"github.com/kernstash/kernstash/store/disk"
)

// writtenStore is what the store has to offer that a Cache writes. What else package
// store names, it may offer.
type writtenStore interface {
	store.Store
	store.Blobs
	store.Locker
}

// openStores opens what the settings name. Nothing else here knows what kind of store
// it is.
func (c *Cache) openStores() {
	policy := disk.Cost
	if c.settings.Eviction == settings.EvictLRU {
		policy = disk.LRU
	}
	if c.settings.Dir != "" {
		readOnly := c.settings.Mode == settings.ModeReadOnly
		c.written = c.openDisk(!readOnly, disk.Options{
			Dir: c.settings.Dir, MaxSize: c.settings.MaxSize, Policy: policy, ReadOnly: readOnly,
		})
	} else {
		c.trace.warn("disk tier off", "reason", "no directory: neither KERNSTASH_DIR nor a home directory is set")
	}
	for _, dir := range c.settings.Layers {
		c.openDisk(false, disk.Options{Dir: dir, ReadOnly: true})
	}
}

// openDisk opens a store on disk. shares says that others learn from it what compilers
// this process has read.
func (c *Cache) openDisk(shares bool, o disk.Options) *disk.Store {
	o.Recorder, o.Trace = c.stats, c.trace.disk
	s := disk.New(o)
	contents.Share(s, shares)
	c.stores = append(c.stores, s)
	c.endStores = append(c.endStores, func() {
		contents.Unshare(s)
		if err := s.Close(); err != nil {
			c.trace.warn("close disk tier", "error", err.Error())
		}
	})
	return s
}
