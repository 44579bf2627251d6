package disk

import (
	"errors"
	"io/fs"
)

// Status says how a store is.
type Status struct {
	Dir      string // the root
	ReadOnly bool
	On       bool   // requests are served
	Reason   string // why not, and what to do
	Exists   bool   // the root is there; else the first put makes it
	MaxSize  int64  // 0: none
	Policy   Policy

	// Bytes and Entries are what the account says, without a walk. Counted is
	// false where that is not known to be all: in a read-only layer, and until
	// the first count after an account was lost.
	Bytes, Entries int64
	Counted        bool
}

// Status returns how the store is. It makes nothing and walks nothing.
func (s *Store) Status() Status {
	st := Status{Dir: s.o.Dir, ReadOnly: s.o.ReadOnly, MaxSize: s.o.MaxSize, Policy: s.o.Policy}
	r, err := s.acquire(false)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		st.On = true
		return st
	case err != nil:
		st.Reason = err.Error()
		return st
	}
	defer r.release()
	st.On, st.Exists = true, true
	if s.o.ReadOnly || !r.hasMeta() {
		return st
	}
	m, err := r.meta(s.o.hooks.noLocks)
	if err != nil {
		st.On, st.Reason = false, offError(s.o.Dir, err).Error()
		return st
	}
	if bytes, entries, counted, err := m.total(); err == nil {
		st.Bytes, st.Entries, st.Counted = bytes, entries, counted
	}
	return st
}
