package disk

import (
	"errors"
	"fmt"
	"io/fs"

	"github.com/kernstash/kernstash/internal/tally"
	"github.com/kernstash/kernstash/stats"
	"github.com/kernstash/kernstash/store/disk/internal/rootdir"
)

// AddStats adds counts to the totals that are kept beside the entries. It
// costs a few system calls and waits for nobody.
func (s *Store) AddStats(delta stats.Snapshot) error {
	if delta == (stats.Snapshot{}) {
		return nil
	}
	return s.withTotals(true, "add statistics", func(f *tally.File) error { return f.Add(delta[:]...) })
}

// Stats returns the totals over all processes so far.
func (s *Store) Stats() (stats.Snapshot, error) {
	var total stats.Snapshot
	err := s.withTotals(false, "read statistics", func(f *tally.File) error {
		sums, err := f.Totals()
		copy(total[:], sums)
		return err
	})
	return total, err
}

// ResetStats sets the totals to zero.
func (s *Store) ResetStats() error {
	return s.withTotals(false, "reset statistics", (*tally.File).Reset)
}

// withTotals calls f with the file of totals. Where there is no root, and none
// is to be made, there is nothing to call it with.
func (s *Store) withTotals(create bool, op string, f func(*tally.File) error) error {
	if s.o.ReadOnly {
		return fmt.Errorf("%s: %s is a read-only layer: %w", op, s.o.Dir, fs.ErrPermission)
	}
	for try := 0; ; try++ {
		r, err := s.at.Acquire(create)
		if errors.Is(err, fs.ErrNotExist) && !create {
			return nil
		}
		if err != nil {
			return fmt.Errorf("%s: %w", op, err)
		}
		open := r.LookMeta
		if create {
			open = r.Meta
		}
		m, err := open()
		if err == nil {
			err = f(m.Stats)
		}
		again := errors.Is(err, fs.ErrNotExist) && try < rootdir.MaxTries && s.at.DropIfGone(r)
		r.Release()
		switch {
		case err == nil, !again && !create && errors.Is(err, fs.ErrNotExist):
			return nil
		case !again:
			return fmt.Errorf("%s: %w", op, err)
		}
	}
}
