//go:build linux

package main

// #include "start.h"
import "C"

import (
	"cmp"
	"fmt"
	"runtime/cgo"
	"strconv"
	"sync"
	"time"

	"github.com/kernstash/kernstash/internal/cache"
	"github.com/kernstash/kernstash/internal/inprocess"
	"github.com/kernstash/kernstash/internal/runlog"
	"github.com/kernstash/kernstash/key"
	"github.com/kernstash/kernstash/stats"
)

// defaultMemory is what binaries take in memory at most, unless the application
// or the operator says otherwise: who keeps programs keeps the driver's.
const defaultMemory = 512 << 10

// openCache is a cache that C opened.
type openCache struct {
	inprocess.Reporter
	cache *cache.Cache

	mu      sync.Mutex
	devices map[key.Digest]*device
}

func cacheOpen(c *C.ks_cache_call) error {
	in := inputs()
	o := c.options
	limit := func(n C.int64_t) string { return strconv.FormatInt(max(int64(n), 0), 10) }
	in.Program = map[string]string{"in-mem-eviction-threshold": limit(cmp.Or(o.memory, defaultMemory))}
	if o.max_size != 0 {
		in.Program["max-size"] = limit(o.max_size)
	}
	if o.flags&C.KERNSTASH_NO_DISK != 0 {
		in.Program["persistent"] = "0"
	}
	if o.flags&C.KERNSTASH_NO_MEMORY_TIER != 0 {
		in.Program["in-mem"] = "0"
	}
	if dir := C.GoString(o.directory); dir != "" {
		// KERNSTASH_DIR says where the cache is that all share. A private limit
		// there would have its entries evicted down to that.
		in.Flags = map[string]string{"dir": dir}
	}
	opened, err := cache.Open(cache.Options{Settings: in})
	if err != nil {
		return withStatus(C.KERNSTASH_SETTING, err)
	}
	used()
	d := &openCache{
		Reporter: inprocess.Reporter{Log: runlog.FromEnvironment(in.Environ), Name: "c"},
		cache:    opened, devices: make(map[key.Digest]*device),
	}
	d.Report(runlog.Event{Kind: runlog.Loaded})
	c.cache._go = C.uintptr_t(cgo.NewHandle(d))
	return nil
}

// later runs f in the background, and posts to C once its error has been written.
func later(c *C.ks_cache_call, f func() error) {
	go func() {
		answer(&c.call, f)
		C.ks_post(c.ticket, C.ks_act_done)
	}()
}

func cacheClose(c *C.ks_cache_call) error {
	d := object[*openCache](c.cache._go)
	later(c, func() error {
		if _, artifacts := d.cache.Close(); artifacts > 0 {
			return withStatus(C.KERNSTASH_TIMEOUT, fmt.Errorf("close: %d artifacts not stored in time", artifacts))
		}
		return nil
	})
	return nil
}

func cacheRelease(c *C.ks_cache_call) error {
	d := object[*openCache](c.cache._go)
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, dev := range d.devices {
		dev.handle.Delete()
	}
	cgo.Handle(c.cache._go).Delete()
	return nil
}

func cacheFlush(c *C.ks_cache_call) error {
	d := object[*openCache](c.cache._go)
	timeout := time.Duration(c.milliseconds) * time.Millisecond
	later(c, func() error {
		if !d.cache.Flush(timeout) {
			return withStatus(C.KERNSTASH_TIMEOUT, fmt.Errorf("flush: not stored within %v", timeout))
		}
		return nil
	})
	return nil
}

func cacheStats(c *C.ks_cache_call) error {
	n := object[*openCache](c.cache._go).cache.Stats()
	get := func(c stats.Counter) C.int64_t { return C.int64_t(n.Get(c)) }
	s := c.statistics
	s.memory_hits = get(stats.MemoryHits)
	s.memory_waits = get(stats.MemoryWaits)
	s.disk_hits = get(stats.DiskHits)
	s.disk_misses = get(stats.DiskMisses)
	s.disk_waits = get(stats.DiskWaits)
	s.stored = get(stats.DiskPuts)
	s.bettered = get(stats.DiskPutsBettered)
	s.existing = get(stats.DiskPutsExisting)
	s.not_stored = get(stats.DiskPutsDropped) + get(stats.DiskPutFailures)
	s.corrupt = get(stats.Corrupt)
	s.builds = get(stats.Builds)
	s.build_failures = get(stats.BuildFailures)
	s.build_time = get(stats.BuildTime)
	s.saved_time = get(stats.SavedTime)
	return nil
}

func cacheCounter(c *C.ks_cache_call) error {
	name := C.GoString(c.name)
	for i, n := range object[*openCache](c.cache._go).cache.Stats() {
		if stats.Counter(i).String() == name {
			c.value = C.int64_t(n)
			return nil
		}
	}
	return withStatus(C.KERNSTASH_NOT_FOUND, fmt.Errorf("counter: there is no %q", name))
}
