package rootdir

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"syscall"
	"time"

	"github.com/kernstash/kernstash/internal/lock"
	"github.com/kernstash/kernstash/internal/safefs"
	"github.com/kernstash/kernstash/store"
)

// LeafWait bounds how long a writer waits for another one in the same leaf
// directory; each holds it for as long as writing two files takes.
const LeafWait = 10 * time.Second

// MaxTries is how often a put starts over when directories are removed under
// it: by the evictor, or the whole root by a person.
const MaxTries = 8

// ComesBack says whether trying again may help: a directory was removed under
// the writer, or, without locks, another writer took the number.
func ComesBack(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrExist) || errors.Is(err, syscall.ESTALE)
}

// WithMeta calls f with .meta, which is made if need be, and once more when it
// was removed meanwhile.
func (p *Place) WithMeta(ctx context.Context, f func(r *Root, m *Meta) error) error {
	if p.ReadOnly {
		return fmt.Errorf("%s is a read-only layer: %w", p.Dir, fs.ErrPermission)
	}
	for try := 0; ; try++ {
		if err := ctx.Err(); err != nil {
			return err
		}
		r, err := p.Acquire(true)
		if err != nil {
			return err
		}
		m, err := r.Meta()
		if err == nil {
			err = f(r, m)
		}
		again := err != nil && ComesBack(err) && try < MaxTries
		if again {
			p.DropIfGone(r)
		}
		r.Release()
		if !again {
			return err
		}
	}
}

// LockLeaf takes the lock of changes to a leaf. Where locks do not work it
// returns none: the file system still lets one writer win.
func (p *Place) LockLeaf(ctx context.Context, m *Meta, l LeafNames, wait time.Duration) (unlock func(), err error) {
	unlock, err = m.Locks.Lock(ctx, leafOffset(l), wait)
	switch {
	case err == nil:
		return unlock, nil
	case errors.Is(err, lock.ErrUnsupported):
		return func() {}, nil
	case errors.Is(err, lock.ErrBusy):
		return nil, fmt.Errorf("another writer: %w", err)
	}
	return nil, err
}

func (p *Place) LockOffset(ctx context.Context, offset int64, wait time.Duration) (unlock func(), err error) {
	if p.ReadOnly {
		return nil, fmt.Errorf("a read-only layer: %w", lock.ErrUnsupported)
	}
	for try := 0; ; try++ {
		unlock, err := p.tryLock(ctx, offset, wait)
		switch {
		case err == nil:
			return unlock, nil
		case errors.Is(err, lock.ErrBusy):
			return nil, store.ErrLocked
		case !errors.Is(err, fs.ErrNotExist) || try == MaxTries:
			return nil, err
		}
	}
}

func (p *Place) tryLock(ctx context.Context, offset int64, wait time.Duration) (unlock func(), err error) {
	r, err := p.Acquire(true)
	if err != nil {
		return nil, err
	}
	defer r.Release()
	m, err := r.lockMeta()
	if err == nil {
		unlock, err = m.Locks.Lock(ctx, offset, wait)
	}
	if errors.Is(err, fs.ErrNotExist) {
		p.DropIfGone(r)
	}
	return unlock, err
}

// MakeLeaf opens a leaf directory and makes what is missing of it. fresh says
// that it is new, and so empty; made is how many directories it made that the
// account counts.
func MakeLeaf(d safefs.Dir, names LeafNames) (leaf safefs.Dir, fresh bool, made int, err error) {
	at := d
	for level, name := range names {
		var next safefs.Dir
		err = fs.ErrNotExist
		if level == 0 { // a device is seldom new
			next, err = at.OpenDir(name)
		}
		if errors.Is(err, fs.ErrNotExist) {
			err = at.Mkdir(name)
			fresh = err == nil
			if fresh && level > 0 {
				made++
			}
			if err == nil || errors.Is(err, fs.ErrExist) {
				next, err = at.OpenDir(name)
			}
		}
		if at != d {
			at.Close()
		}
		if err != nil {
			return safefs.Dir{}, false, made, err
		}
		at = next
	}
	return at, fresh, made, nil
}

// Prune removes a leaf directory and those above it, as far as they are empty.
// It returns how many of those it removed that the account counts.
func Prune(d safefs.Dir, names LeafNames) (removed int) {
	for level := len(names) - 1; level >= 0; level-- {
		parent := d
		if level > 0 {
			var err error
			if parent, err = d.OpenDir(LeafPrefix(names, level)); err != nil {
				return removed
			}
		}
		err := parent.Rmdir(names[level])
		if parent != d {
			parent.Close()
		}
		if err != nil {
			return removed
		}
		if level > 0 {
			removed++
		}
	}
	return removed
}

// WithDir calls f with a directory in d, which is made if need be.
func WithDir(d safefs.Dir, name string, f func(safefs.Dir) error) error {
	sub, err := EnsureDir(d, name)
	if err != nil {
		return err
	}
	defer sub.Close()
	return f(sub)
}

func ListNames(d safefs.Dir) (names []string, err error) {
	err = d.Each(func(name string) bool { names = append(names, name); return true })
	return names, IgnoreGone(err)
}
