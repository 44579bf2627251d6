package disk

import (
	"errors"
	"fmt"
	"io/fs"
	"time"

	"github.com/kernstash/kernstash/internal/safefs"
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

	// Bytes and Entries are what the account says, without a walk. Bytes is
	// what du shows, with what entries share. Counted is false where that is
	// not known: in a read-only layer, where it is nothing, and after an account
	// was lost, where what was not counted yet is estimated. CountedAt is when
	// the part was counted that was not for longest.
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
