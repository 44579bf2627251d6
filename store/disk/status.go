package disk

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"time"

	"github.com/kernstash/kernstash/internal/safefs"
	"github.com/kernstash/kernstash/internal/tally"
	"github.com/kernstash/kernstash/stats"
	"github.com/kernstash/kernstash/store/disk/internal/rootdir"
)

// Status says how a store is.
type Status struct {
	Dir      string // the root
	ReadOnly bool
	On       bool   // requests are served
	Reason   string // why not, or what does not work though it is on, and what to do
	Exists   bool   // the root is there; else the first put makes it
	MaxSize  int64  // 0: none
	Policy   Policy

	// Bytes and Entries are what the account says, without a walk. Bytes is what du shows,
	// with what entries share. Counted is false where that is not known: in a read-only
	// layer, where it is nothing, and after an account was lost, where what was not counted
	// yet is estimated. CountedAt is when the part was counted that was not for longest.
	Bytes, Entries int64
	Counted        bool
	CountedAt      time.Time
}

// Status returns how the store is. It makes nothing and walks nothing.
func (s *Store) Status() Status {
	st := Status{Dir: s.o.Dir, ReadOnly: s.o.ReadOnly, MaxSize: s.o.MaxSize, Policy: s.o.Policy}
	r, err := s.at.Acquire(false)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		st.On = true
		return st
	case err != nil:
		st.Reason = err.Error()
		return st
	}
	defer r.Release()
	st.On, st.Exists = true, true
	if s.o.ReadOnly {
		return st
	}
	m, err := r.LookMeta()
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return st
	case err != nil:
		st.On, st.Reason = false, rootdir.OffError(s.o.Dir, err).Error()
		return st
	}
	t, err := m.Account.Total()
	st.Bytes, st.Entries, st.Counted = t.Bytes, t.Entries, t.Known && err == nil
	if st.Counted {
		st.CountedAt = time.Unix(t.Counted, 0)
	}
	st.Reason = s.limits(m, err)
	return st
}

// limits says what does not work though the tier is on.
func (s *Store) limits(m *rootdir.Meta, account error) string {
	info, err := m.Dir.Lstat(rootdir.LockFile)
	switch {
	case err == nil && info.Kind != safefs.Regular:
		return fmt.Sprintf("%s/%s is not a regular file, so there are no locks: remove it", rootdir.MetaDir, rootdir.LockFile)
	case account != nil:
		return fmt.Sprintf("the account cannot be read, so the limit is kept late: run gc: %v", account)
	}
	if n := s.evictor.Others(); n > 0 {
		return fmt.Sprintf("%d bytes more are of another version, which the limit is not for: run gc to remove them", n)
	}
	return ""
}

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
func (s *Store) ResetStats() error { return s.withTotals("reset statistics", (*tally.File).Reset) }

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
