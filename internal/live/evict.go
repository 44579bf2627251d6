package live

import (
	"cmp"
	"maps"
	"slices"

	"github.com/kernstash/kernstash/stats"
)

// Limits returns the limits of bytes (0: no limit) and of programs.
func (t *Tier[P, K, T]) Limits() (bytes int64, programs int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.maxBytes, t.maxPrograms
}

// SetLimits changes the limits, and evicts what is over them. Programs in use stay
// alive with their users.
func (t *Tier[P, K, T]) SetLimits(bytes int64, programs int) {
	t.mu.Lock()
	t.maxBytes, t.maxPrograms = bytes, programs
	t.mu.Unlock()
	t.evict()
}

// Clear drops every program. Programs in use stay alive with their users.
func (t *Tier[P, K, T]) Clear() {
	t.mu.Lock()
	all := slices.Collect(maps.Keys(t.cached))
	t.mu.Unlock()
	for _, p := range all {
		t.Drop(p)
	}
}

// admit keeps a program that was just made, or whose failure is final, and evicts
// what is then over the limits. After a failure that was forgotten, another
// program may have taken its place meanwhile: then it lives with those who wait
// for it, and goes with them.
func (t *Tier[P, K, T]) admit(p *Program[P, K, T], made bool) {
	p.used.Store(t.clock.Add(2))
	placed := t.programs.loadOrAdd(&p.id, func() *Program[P, K, T] { return p }) == p
	t.mu.Lock()
	if made {
		t.live[p] = struct{}{}
	}
	if placed {
		t.cached[p] = struct{}{}
	}
	t.mu.Unlock()
	if !placed {
		if p.refs.kill() {
			t.free(p)
		}
		return
	}
	t.evict()
}

// evict drops the least recently used programs until the limits hold.
func (t *Tier[P, K, T]) evict() {
	for _, p := range t.victims() {
		if t.Drop(p) {
			t.count(stats.MemoryEvictions)
			t.objects.Evicted(p)
		}
	}
}

// ranked is a program with the time of its last use, as it was when programs
// were compared: uses go on meanwhile.
type ranked[P, K, T any] struct {
	p    *Program[P, K, T]
	used int64
}

func (t *Tier[P, K, T]) victims() []*Program[P, K, T] {
	t.mu.Lock()
	defer t.mu.Unlock()
	var bytes int64
	holders := make(map[*Unit[P, K, T]]int) // programs for other devices may share them
	if t.maxBytes > 0 {
		for p := range t.cached {
			for _, u := range p.units {
				if holders[u]++; holders[u] == 1 {
					bytes += u.bytes.Load()
				}
			}
		}
	}
	over := func(count int) bool { return count > t.maxPrograms || t.maxBytes > 0 && bytes > t.maxBytes }
	if !over(len(t.cached)) {
		return nil
	}
	all := make([]ranked[P, K, T], 0, len(t.cached))
	for p := range t.cached {
		all = append(all, ranked[P, K, T]{p, p.used.Load()})
	}
	slices.SortFunc(all, func(a, b ranked[P, K, T]) int { return cmp.Compare(a.used, b.used) })
	var out []*Program[P, K, T]
	for i := 0; i < len(all) && over(len(all)-i); i++ {
		out = append(out, all[i].p)
		for _, u := range all[i].p.units {
			if holders[u]--; holders[u] == 0 {
				bytes -= u.bytes.Load()
			}
		}
	}
	return out
}

// Drop keeps a program no longer; its users keep it alive. It reports whether the
// program was kept.
func (t *Tier[P, K, T]) Drop(p *Program[P, K, T]) bool {
	t.mu.Lock()
	_, was := t.cached[p]
	delete(t.cached, p)
	t.mu.Unlock()
	if !was {
		return false
	}
	t.programs.remove(p, nil)
	if p.refs.kill() {
		t.free(p)
	}
	return true
}

// free releases what a program holds. Whoever ended its last use calls it, once.
func (t *Tier[P, K, T]) free(p *Program[P, K, T]) {
	t.mu.Lock()
	delete(t.live, p)
	t.retired += p.refs.acquired()
	t.mu.Unlock()
	for _, u := range p.units {
		u.Release()
	}
}
