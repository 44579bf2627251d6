package kernstash

import (
	"container/heap"
	"log/slog"

	"github.com/kernstash/kernstash/stats"
)

// admit takes a program that was just made, or whose failure is final, into
// the cache, and evicts what is then over the limits. After a failure that was
// forgotten, another program may have taken its place meanwhile: then it lives
// with those who wait for it, and goes with them.
func (x *Context[P, K]) admit(p *Program[P, K], made bool) {
	p.used.Store(x.clock.Add(2))
	placed := x.programs.loadOrAdd(&p.id, func() *Program[P, K] { return p }) == p
	x.mu.Lock()
	if made {
		x.live[p] = struct{}{}
	}
	if placed {
		x.cached[p] = struct{}{}
	}
	x.mu.Unlock()
	if !placed {
		if p.refs.Kill() {
			x.free(p)
		}
		return
	}
	x.evict()
}

// evict drops the least recently used programs until the limits hold.
func (x *Context[P, K]) evict() {
	for _, p := range x.victims() {
		if x.drop(p) {
			x.count(stats.MemoryEvictions)
			on(x.cache.trace.memory, func(l *slog.Logger) { l.Debug("evicted", "program", p.label()) })
		}
	}
}

// victims returns the programs to evict.
func (x *Context[P, K]) victims() []*Program[P, K] {
	x.mu.Lock()
	defer x.mu.Unlock()
	var bytes int64
	holders := make(map[*unit[P, K]]int) // programs for other devices may share them
	if x.maxBytes > 0 {
		for p := range x.cached {
			for _, u := range p.units {
				if holders[u]++; holders[u] == 1 {
					bytes += u.bytes.Load()
				}
			}
		}
	}
	over := func(count int) bool { return count > x.maxCount || x.maxBytes > 0 && bytes > x.maxBytes }
	if !over(len(x.cached)) {
		return nil
	}
	all := make(leastUsed[P, K], 0, len(x.cached))
	for p := range x.cached {
		all = append(all, ranked[P, K]{p, p.used.Load()})
	}
	heap.Init(&all) // most often one program has to go, or few
	var out []*Program[P, K]
	for over(len(all)) && len(all) > 0 {
		p := heap.Pop(&all).(ranked[P, K]).p
		out = append(out, p)
		for _, u := range p.units {
			if holders[u]--; holders[u] == 0 {
				bytes -= u.bytes.Load()
			}
		}
	}
	return out
}

// drop takes a program out of the cache; who uses it keeps it alive. False:
// somebody else dropped it.
func (x *Context[P, K]) drop(p *Program[P, K]) bool {
	x.mu.Lock()
	_, was := x.cached[p]
	delete(x.cached, p)
	x.mu.Unlock()
	if !was {
		return false
	}
	x.programs.remove(p, nil)
	if p.refs.Kill() {
		x.free(p)
	}
	return true
}

// free releases what a program holds. It is called once for each program, by
// whoever ended its last use.
func (x *Context[P, K]) free(p *Program[P, K]) {
	x.mu.Lock()
	delete(x.live, p)
	x.retired += p.refs.Acquired()
	x.mu.Unlock()
	for _, u := range p.units {
		x.releaseUnit(u)
	}
}

// label names a program for people.
func (p *Program[P, K]) label() string {
	if len(p.units) > 0 {
		return p.units[0].label()
	}
	return p.id.what.String()[:12]
}
