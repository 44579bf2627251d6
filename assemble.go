package kernstash

import (
	"context"
	"errors"
	"fmt"
	"math/bits"
	"sync"

	"github.com/kernstash/kernstash/key"
	"github.com/kernstash/kernstash/reason"
)

// assemble makes a program of units: one for each distinct identity among its
// devices. Units that another program has already are shared, so a program for
// several devices answers for each subset of them, and builds only what is
// missing.
func (x *Context[P, K]) assemble(ctx context.Context, p *Program[P, K], r Request, res *resolution) error {
	if !x.enter() {
		return ErrClosed
	}
	defer x.building.Done()
	groups := x.groups(p.id.devices)
	if x.private(groups, r, res) {
		p.owner.Store(r.Image.serial)
	}
	units := make([]*unit[P, K], len(groups))
	errs := make([]error, len(groups))
	var all sync.WaitGroup
	for i, g := range groups {
		id := unitID{p.id.what, g[0], p.owner.Load()}
		one := func() { units[i], errs[i] = x.ownUnit(ctx, p, id, g, r, res.group(i)) }
		if len(groups) == 1 {
			one() // on this goroutine: a panic of the runtime finds its way
		} else {
			all.Go(func() { errs[i] = guard(func() error { one(); return errs[i] }) })
		}
	}
	all.Wait()
	if err := errors.Join(errs...); err != nil {
		for _, u := range units {
			if u != nil {
				x.releaseUnit(u)
			}
		}
		if len(groups) == 1 {
			err = errs[0]
		}
		if isFinal(err) {
			x.admit(p, false)
		}
		return err
	}
	p.unitFor = make([]int, x.rt.Devices())
	for d := range p.unitFor {
		p.unitFor[d] = -1
	}
	for i, u := range units {
		for _, d := range u.devices {
			if p.id.devices&(1<<d) != 0 {
				p.unitFor[d] = i
			}
		}
	}
	p.units = units
	p.first = bits.TrailingZeros64(p.id.devices)
	p.native = units[p.unitFor[p.first]].native
	x.nonHits.Add(1)
	p.refs.Retain() // until all who wait have taken it
	x.admit(p, true)
	return nil
}

// private says whether a program reads what no key holds, so that only its very
// image may share it.
func (x *Context[P, K]) private(groups [][]int, r Request, res *resolution) bool {
	for i, g := range groups {
		_, against, err := x.recipe(g, r, res.group(i))
		if err == nil && !against.None() && against.Code != reason.NotCacheableSize {
			return true
		}
	}
	return false
}

// enter notes a build in flight, for Close to wait for; false: it is closed.
func (x *Context[P, K]) enter() bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.closed.Load() {
		return false
	}
	x.building.Add(1)
	return true
}

// groups returns the devices of a set in groups of equal identity. A group
// holds all the context's devices of that identity, whether the set names them
// or not: they share what is built. A device that cannot be identified is a
// group of its own.
func (x *Context[P, K]) groups(set uint64) [][]int {
	ids := x.identities()
	byDigest := make(map[key.Digest][]int)
	digests := make([]key.Digest, len(ids))
	for d, id := range ids {
		if id.err == nil {
			digests[d] = id.device.Digest()
			byDigest[digests[d]] = append(byDigest[digests[d]], d)
		}
	}
	var groups [][]int
	seen := make(map[int]bool)
	for d, id := range ids {
		if set&(1<<d) == 0 {
			continue
		}
		g := []int{d}
		if id.err == nil {
			g = byDigest[digests[d]]
		}
		if !seen[g[0]] {
			seen[g[0]] = true
			groups = append(groups, g)
		}
	}
	return groups
}

// guard makes an error of a panic in f.
func guard(f func() error) (err error) {
	defer func() {
		if v := recover(); v != nil {
			err = fmt.Errorf("runtime panicked: %v", v)
		}
	}()
	return f()
}
