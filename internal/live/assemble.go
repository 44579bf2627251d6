package live

import (
	"context"
	"errors"
	"math/bits"
	"sync"

	"github.com/kernstash/kernstash/internal/flight"
)

// assemble makes a program of the units of its parts. Units that another program
// has already are shared, so a program for several devices answers for each subset
// of them, and only what is missing is made.
func (t *Tier[P, K, T]) assemble(ctx context.Context, p *Program[P, K, T], owner uint64, s Source[P, K, T]) error {
	if !t.Enter() {
		return ErrClosed
	}
	defer t.Leave()
	parts, own := s.Parts(p.id)
	if own {
		p.owner.Store(owner)
	}
	units := make([]*Unit[P, K, T], len(parts))
	errs := make([]error, len(parts))
	var all sync.WaitGroup
	for i, part := range parts {
		one := func() (err error) {
			units[i], err = t.part(ctx, p, part, i, owner, s)
			return err
		}
		if len(parts) == 1 {
			errs[i] = one()
		} else {
			all.Go(func() { errs[i] = flight.Guard(one) })
		}
	}
	all.Wait()
	if err := errors.Join(errs...); err != nil {
		for _, u := range units {
			if u != nil {
				u.Release()
			}
		}
		if len(parts) == 1 {
			err = errs[0]
		}
		if t.isFinal(err) {
			t.admit(p, false)
		}
		return err
	}
	p.units, p.unitFor = units, make([]*Unit[P, K, T], bits.Len64(p.id.Devices))
	for _, u := range units {
		for _, d := range u.devices {
			if p.id.Devices&(1<<d) != 0 {
				p.unitFor[d] = u
			}
		}
	}
	p.first = bits.TrailingZeros64(p.id.Devices)
	p.native = p.unitFor[p.first].native
	t.nonHits.Add(1)
	p.refs.retain() // until all who wait have taken it
	t.admit(p, true)
	return nil
}

// part returns the unit of a part of p, which becomes its owner's own if the unit is.
func (t *Tier[P, K, T]) part(ctx context.Context, p *Program[P, K, T], part Part, i int, asker uint64, s Source[P, K, T]) (*Unit[P, K, T], error) {
	make := func(ctx context.Context, u *Unit[P, K, T]) error { return s.Make(ctx, u, i) }
	id := unitID{part.What, part.Devices[0], p.owner.Load()}
	u, owner, err := t.unit(ctx, id, part.Devices, make)
	if owner != 0 && owner != asker {
		if u != nil {
			u.Release()
		}
		id.owner = asker
		u, owner, err = t.unit(ctx, id, part.Devices, make)
	}
	if owner != 0 {
		p.owner.Store(owner)
	}
	return u, err
}
