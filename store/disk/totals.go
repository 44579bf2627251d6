package disk

import (
	"cmp"
	"context"
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
	var added error
	err := s.at.Write(context.Background(), func(_ *rootdir.Root, m *rootdir.Meta) error {
		if added = m.Stats.Add(delta[:]...); errors.Is(added, fs.ErrNotExist) && !errors.Is(added, tally.ErrTorn) {
			return added
		}
		return nil // after another error, trying again might count twice
	})
	if err = cmp.Or(err, added); err != nil {
		return fmt.Errorf("add statistics: %w", err)
	}
	return nil
}

// Stats returns the totals over all processes so far.
func (s *Store) Stats() (stats.Snapshot, error) {
	var total stats.Snapshot
	err := s.withTotals("read statistics", func(f *tally.File) error {
		sums, err := f.Totals()
		copy(total[:], sums)
		return err
	})
	return total, err
}

// ResetStats sets the totals to zero.
func (s *Store) ResetStats() error {
	return s.withTotals("reset statistics", (*tally.File).Reset)
}

// withTotals calls f with the file of totals. Where there is no root there is nothing to
// call it with.
func (s *Store) withTotals(op string, f func(*tally.File) error) error {
	err := s.at.Writable()
	if err == nil {
		err = s.at.Look(context.Background(), func(r *rootdir.Root) error {
			m, err := r.LookMeta()
			if err != nil {
				return err
			}
			return f(m.Stats)
		})
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%s: %w", op, err)
	}
	return nil
}
