package layer

import (
	"errors"
	"slices"
	"time"

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

// knownUnits returns the compiled units that those of a link stand for, nil for
// those that are not known.
func (l *Layer) knownUnits(r *Request) []*compiled {
	if r.What != Link {
		return nil
	}
	known := make([]*compiled, len(r.Units))
	for i := range r.Units {
		if id := r.Units[i].Compiled; id != 0 {
			known[i] = l.compiled.find(id)
		}
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

// compiled returns the number under which the ticket's unit, whose compilation has
// ended, can be linked, 0 where it reads no files, and what was saved. If the driver
// compiled it just now, it counts only if the files are still what they were when they
// were looked at.
func (t *Ticket) compiled() (program uint64, saved time.Duration) {
	good, built := true, false
	for _, u := range t.units {
		if good = good && u.good; u.step != nil {
			saved += u.step.saved
			built = built || u.step.built
		}
	}
	files := t.pool.session.Snapshot(t.request)
	if !good || files == nil || built && files.Changed() != "" {
		return 0, saved
	}
	return t.l.compiled.add(t.l.number(), &compiled{pool: t.pool, files: files}), saved
}
