package cache

import (
	"errors"
	"os"

	"github.com/kernstash/kernstash/agent/client"
	"github.com/kernstash/kernstash/deps"
	"github.com/kernstash/kernstash/internal/arithmetic"
	"github.com/kernstash/kernstash/internal/contents"
	"github.com/kernstash/kernstash/internal/engine"
	"github.com/kernstash/kernstash/internal/settings"
	"github.com/kernstash/kernstash/store"
	"github.com/kernstash/kernstash/store/disk"
	"github.com/kernstash/kernstash/store/memory"
	"github.com/kernstash/kernstash/store/tiered"
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

// openStores opens what the settings name, with open what is written on disk; nil: disk.New.
// Nothing else here knows what kind of store it is.
func (c *Cache) openStores(open func(disk.Options) Disk) {
	switch set := c.settings; {
	case set.Disable:
	case set.Persistent:
		c.openDisks(open)
	case set.InMemory && set.InMemEvictionThreshold == 0 && set.Mode != settings.ModeReadOnly:
		own := memory.New(memory.Options{MaxSize: maxInProcess, Recorder: c.stats})
		c.written, c.near, c.end = own, own, []func(){own.Clear}
	}
}

func (c *Cache) openDisks(open func(disk.Options) Disk) {
	if open == nil {
		open = func(o disk.Options) Disk { return disk.New(o) }
	}
	o := disk.Options{
		Dir: c.settings.Dir, MaxSize: c.settings.MaxSize, Policy: disk.Cost, Records: c.settings.Records, Recorder: c.stats, Trace: c.log.Disk,
	}
	if c.settings.Eviction == settings.EvictLRU {
		o.Policy = disk.LRU
	}
	o.KeepAccess = c.ahead
	o.ReadOnly = c.settings.Mode == settings.ModeReadOnly
	if o.Dir != "" {
		own := open(o)
		c.written, c.near = c.withAgent(own, o.ReadOnly), own
		c.shareDisk(own, !o.ReadOnly)
	} else {
		c.log.Warn("disk tier off", "reason", "no directory: neither KERNSTASH_DIR nor a home directory is set")
	}
	for _, dir := range c.settings.Layers {
		layer := disk.New(disk.Options{Dir: dir, ReadOnly: true, Recorder: c.stats, Trace: c.log.Disk})
		c.shareDisk(layer, false)
		c.layers = append(c.layers, layer)
	}
}

// withAgent puts the agent of the node behind the disk. Whether there is one is found out when
// something is not on disk.
func (c *Cache) withAgent(own Disk, readOnly bool) Store {
	near, ok := own.(tiered.Near)
	sockets := c.settings.AgentSockets()
	if !ok || len(sockets) == 0 {
		return own
	}
	c.agent = client.New(client.Options{Paths: sockets, UIDs: c.settings.AgentUID, Trace: c.log.Disk, Recorder: c.stats})
	s := tiered.New(near, tiered.Options{
		Far: []tiered.Far{{
			Name: client.Name, Store: c.agent, Locker: c.agent, Timeout: client.DefaultTimeout, NoBackfill: true, Present: c.agent.Present,
		}},
		ReadOnly: readOnly, Recorder: c.stats, Log: c.log.Disk,
	})
	c.end = append(c.end, func() { _ = s.Close() })
	return s
}

// shareDisk has a store on disk used until the Cache is closed. shares says that others
// learn from it what compilers this process has read.
func (c *Cache) shareDisk(s Disk, shares bool) {
	contents.Share(s, shares)
	c.end = append(c.end, func() {
		contents.Unshare(s)
		if err := s.Close(); err != nil {
			c.log.Warn("close disk tier", "error", err.Error())
		}
	})
}

// Process is what hosts of the engine answer alike: what the process is, and that their
// compilers make artifacts when they build.
type Process struct{}

// CheckOptions has nothing against any options.
func (Process) CheckOptions(int, []string) error { return nil }

// HeaderSearch says that it is not known where the compiler looks for header files.
func (Process) HeaderSearch(int, string, engine.Request) (deps.Search, error) {
	return deps.Search{}, errors.New("where the compiler looks for header files is not known")
}

// WorkingDirectory returns the process's.
func (Process) WorkingDirectory() (string, error) { return os.Getwd() }

// DefaultArithmetic reports whether the thread computes as threads do from their start.
func (Process) DefaultArithmetic() bool { return arithmetic.Default() }

// Delivery returns engine.AtBuild.
func (Process) Delivery(engine.Job) engine.Delivery { return engine.AtBuild }
