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
	"github.com/kernstash/kernstash/store/disk/evict"
)

// LeafWait bounds how long a writer waits for another one in the same leaf
// directory; each holds it for as long as writing two files takes.
const LeafWait = 10 * time.Second

// maxTries is how often a writer starts over when directories are removed under
// it: by the evictor, or the whole root by a person.
const maxTries = 8

// comesBack reports whether trying again may help: a directory was removed under
// the writer, or, without locks, another writer took the number.
func comesBack(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrExist) || errors.Is(err, syscall.ESTALE)
}

// Look calls f with the root, and once more if that was removed meanwhile: there may
// be another one. It makes nothing: without a root the error is fs.ErrNotExist.
func (p *Place) Look(ctx context.Context, f func(r *Root) error) error {
	return p.with(ctx, false, f)
}

// Change is Look for who removes something. Only f knows whether it is there, and so
// whether .meta may be made.
func (p *Place) Change(ctx context.Context, f func(r *Root) error) error {
	if err := p.Writable(); err != nil {
		return err
	}
	return p.with(ctx, false, f)
}

// Write calls f with the root and its .meta, which are made if need be, and again
// while something was removed under it.
func (p *Place) Write(ctx context.Context, f func(r *Root, m *Meta) error) error {
	if err := p.Writable(); err != nil {
		return err
	}
	return p.with(ctx, true, func(r *Root) error {
		m, err := r.Meta()
		if err != nil {
			return err
		}
		return f(r, m)
	})
}

// Writable returns an error for a read-only layer.
func (p *Place) Writable() error {
	if p.ReadOnly {
		return fmt.Errorf("%s is a read-only layer: %w", p.Dir, fs.ErrPermission)
	}
	return nil
}

func (p *Place) with(ctx context.Context, create bool, f func(r *Root) error) error {
	for try := 0; ; try++ {
		if err := ctx.Err(); err != nil {
			return err
		}
		again, err := p.once(create, f)
		if !again || try == maxTries {
			return err
		}
	}
}

// once calls f with the root. f may panic: in a loop over a list, the caller's code runs in it.
func (p *Place) once(create bool, f func(r *Root) error) (again bool, err error) {
	r, err := p.Acquire(create)
	if err != nil {
		return false, err
	}
	defer r.Release()
	err = f(r)
	return err != nil && comesBack(err) && (p.dropIfGone(r) || create), err
}

// LockLeaf takes the lock of changes to a leaf.
func (m *Meta) LockLeaf(ctx context.Context, l LeafNames, wait time.Duration) (unlock func(), err error) {
	unlock, err = m.lock(ctx, leafOffset(l), wait)
	if errors.Is(err, lock.ErrBusy) {
		err = fmt.Errorf("another writer: %w", err)
	}
	return unlock, err
}

// LockEvict takes a lock of package evict.
func (m *Meta) LockEvict(ctx context.Context, n int, wait time.Duration) (unlock func(), err error) {
	offset := int64(trimBytes + n)
	if n == evict.Recount {
		offset = countByte
	}
	return m.lock(ctx, offset, wait)
}

// LockRecords takes the lock of the file that records are appended to.
func (m *Meta) LockRecords(ctx context.Context, wait time.Duration) (unlock func(), err error) {
	return m.lock(ctx, recordsByte, wait)
}

// lock takes a lock. Where locks do not work it returns none: the file system still lets
// one writer win.
func (m *Meta) lock(ctx context.Context, offset int64, wait time.Duration) (unlock func(), err error) {
	unlock, err = m.Locks.Lock(ctx, offset, wait)
	if errors.Is(err, lock.ErrUnsupported) {
		return func() {}, nil
	}
	return unlock, err
}

// Lock takes a BuildLock, or the WorkerLock; see [store.Locker].
func (p *Place) Lock(ctx context.Context, offset int64, wait time.Duration) (unlock func(), err error) {
	if err := p.Writable(); err != nil {
		return nil, err
	}
	err = p.with(ctx, true, func(r *Root) error {
		// What the first entry needs besides is left to a time when nobody waits.
		m, err := r.openMeta(EnsureDir)
		if err == nil {
			unlock, err = m.Locks.Lock(ctx, offset, wait)
		}
		return err
	})
	if errors.Is(err, lock.ErrBusy) {
		err = store.ErrLocked
	}
	return unlock, err
}

// MakeLeaf opens a leaf directory and makes what is missing of it. fresh says that it is
// new, and so empty; made is how many directories it made that the account counts.
func MakeLeaf(d safefs.Dir, names LeafNames) (leaf safefs.Dir, fresh bool, made int, err error) {
	at, err := EnsureDir(d, names[0]) // most often it is there
	for _, name := range names[1:] {
		if err != nil {
			return safefs.Dir{}, false, made, err
		}
		var next safefs.Dir
		next, err = at.Mkdir(name)
		if fresh = err == nil; fresh {
			made++
		} else if errors.Is(err, fs.ErrExist) {
			next, err = at.OpenDir(name)
		}
		at.Close()
		at = next
	}
	return at, fresh, made, err
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

// ListNames returns the names in a directory.
func ListNames(d safefs.Dir) (names []string, err error) {
	err = d.Each(func(name string) bool { names = append(names, name); return true })
	return names, IgnoreGone(err)
}
