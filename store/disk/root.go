package disk

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/kernstash/kernstash/internal/beneath"
	"github.com/kernstash/kernstash/internal/elevated"
)

// root is an open root directory. Operations hold it while they run, so
// closing or replacing it pulls no descriptor from under them.
type root struct {
	dir  beneath.Dir
	refs atomic.Int64

	first sync.Once // see begin
	now   func() time.Time

	mu    sync.Mutex
	metas *meta // nil until needed
}

// retryOff is how long a tier that was found off stays off before it is looked
// at again.
const retryOff = 10 * time.Second

// acquire returns the root, opened if need be; the caller releases it. create
// makes a root that is not there. Errors wrap ErrOff, or are fs.ErrNotExist
// where there is no root and create is false.
func (s *Store) acquire(create bool) (*root, error) {
	if s.closed.Load() {
		return nil, offError(s.o.Dir, errClosed)
	}
	if r := s.root.Load(); r != nil && r.retain() {
		return r, nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed.Load() {
		return nil, offError(s.o.Dir, errClosed)
	}
	if r := s.root.Load(); r != nil && r.retain() {
		return r, nil
	}
	if s.held {
		return nil, offError(s.o.Dir, errGone)
	}
	keep := retryOff
	if s.o.hooks.offFor != 0 {
		keep = s.o.hooks.offFor
	}
	if s.off != nil && time.Since(s.offAt) < keep {
		return nil, s.off
	}
	r, err := s.openRoot(create)
	if err != nil {
		if !errors.Is(err, fs.ErrNotExist) || create {
			err = offError(s.o.Dir, err)
			s.off, s.offAt = err, time.Now()
			s.o.Trace.Warn("disk tier off", "dir", s.o.Dir, "reason", err)
		}
		return nil, err
	}
	s.off = nil
	r.refs.Store(2) // the store's and the caller's
	s.root.Store(r)
	return r, nil
}

func offError(dir string, err error) error { return fmt.Errorf("%w: %s: %w", ErrOff, dir, err) }

// dropIfGone forgets a root that was removed while it was in use, or whose
// .meta was, so that the next need makes it anew. It says whether it did.
func (s *Store) dropIfGone(r *root) bool {
	info, err := r.dir.Stat()
	if err == nil && info.Links > 0 && !r.metaGone() {
		return false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.root.CompareAndSwap(r, nil) {
		s.o.Trace.Debug("disk root is gone", "dir", s.o.Dir)
		r.release()
	}
	return true
}

func (r *root) retain() bool {
	for {
		n := r.refs.Load()
		if n == 0 {
			return false
		}
		if r.refs.CompareAndSwap(n, n+1) {
			return true
		}
	}
}

func (r *root) release() {
	if r.refs.Add(-1) > 0 {
		return
	}
	if r.metas != nil {
		r.metas.close()
	}
	r.dir.Close()
}

func (s *Store) openRoot(create bool) (*root, error) {
	if s.o.Dir == "" {
		return nil, errors.New("no directory is set")
	}
	if s.setID() {
		// It would run code that its caller chose, with rights of another.
		return nil, errors.New("the program has rights that its user has not (set-user-id, or file capabilities): it stores nothing")
	}
	d, info, err := beneath.OpenRoot(s.o.Dir, s.o.hooks.beneath)
	if errors.Is(err, fs.ErrNotExist) && create && !s.o.ReadOnly {
		if err := s.makeRoot(); err != nil {
			return nil, fmt.Errorf("make the root: %w", err)
		}
		d, info, err = beneath.OpenRoot(s.o.Dir, s.o.hooks.beneath)
	}
	switch {
	case errors.Is(err, syscall.ENOTDIR), errors.Is(err, syscall.ELOOP):
		return nil, s.notDirectory()
	case err != nil:
		return nil, err
	}
	if err := s.checkRoot(d, info); err != nil {
		d.Close()
		return nil, err
	}
	if err := checkVersion(d, s.o.ReadOnly); err != nil {
		d.Close()
		return nil, err
	}
	return &root{dir: d, now: s.o.Now}, nil
}

func (s *Store) makeRoot() error {
	if err := s.o.hooks.beneath.Before(beneath.OpMkdirAll); err != nil {
		return err
	}
	return os.MkdirAll(s.o.Dir, 0o700)
}

// notDirectory says what is in the place of the root.
func (s *Store) notDirectory() error {
	if info, err := os.Lstat(s.o.Dir); err == nil && info.Mode()&fs.ModeSymlink != 0 {
		return errors.New("a symbolic link, not a directory: set the directory that it leads to")
	}
	return errors.New("not a directory: remove it, or set another")
}

// trusted says whether a file or directory of this owner and mode may be
// believed.
func (s *Store) trusted(info beneath.Info) bool {
	if info.Perm&0o022 != 0 || isAnybody(info.UID) {
		return false
	}
	return info.UID == uint32(euid()) || s.o.ReadOnly && info.UID == 0
}

// euid is the user that files must belong to.
func euid() int { return os.Geteuid() }

// setID says whether the program runs with rights that its user does not have.
func (s *Store) setID() bool {
	return s.o.hooks.setID || elevated.Now()
}
