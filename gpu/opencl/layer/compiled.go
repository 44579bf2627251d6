package layer

import (
	"errors"
	"slices"

	"github.com/kernstash/kernstash/internal/engine"
	"github.com/kernstash/kernstash/key"
)

// compiled is a unit that reads header files, as it was when it was compiled, or
// when its compilation was found to be known. Links mean that unit, whatever the
// files hold by then.
type compiled struct {
	pool  *pool
	files *engine.Snapshot
}

var errTooManyUnits = errors.New("too many compiled units that read header files")

// units returns the compiled units that those of a link stand for, nil for
// those that are not known.
func (s *programs) units(r *Request) []*compiled {
	if r.What != Link {
		return nil
	}
	known := make([]*compiled, len(r.Units))
	for i := range r.Units {
		known[i] = s.find(r.Units[i].Compiled).compiled
	}
	return known
}

// compiledUnits returns what known units read on a device of the pool.
func (p *pool) compiledUnits(known []*compiled) func(device int) []key.Unit {
	return func(device int) (all []key.Unit) {
		for _, c := range known {
			if c == nil {
				continue
			}
			at := slices.Index(c.pool.devices, p.devices[device])
			if at < 0 {
				return nil
			}
			all = append(all, c.files.Units(at)...)
		}
		return all
	}
}
