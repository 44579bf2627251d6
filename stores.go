package kernstash

import (
	"github.com/kernstash/kernstash/internal/contents"
	"github.com/kernstash/kernstash/internal/settings"
	"github.com/kernstash/kernstash/store"
	"github.com/kernstash/kernstash/store/disk"
	"github.com/kernstash/kernstash/store/memory"
)

// writtenStore is what the store has to offer that a Cache writes. What else package
// store names, it may offer.
type writtenStore interface {
	store.Store
	store.Blobs
	store.Locker
}

// maxInProcess bounds the bytes of artifacts that are kept in the process where there is
// no disk tier, nor a limit of what is kept in memory.
const maxInProcess = 64 << 20

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
		c.endStores = append(c.endStores, own.Clear)
	}
}

func (c *Cache) openDisks() {
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
