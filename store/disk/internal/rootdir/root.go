// Package rootdir is the root directory of a disk store: how it is opened safely and
// laid out, what its files are called and take, how the files of entries are read and
// changed under locks, and how a root is walked.
package rootdir

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/kernstash/kernstash/internal/elevated"
	"github.com/kernstash/kernstash/internal/safefs"
	"github.com/kernstash/kernstash/key"
)

// Options say where a root is, and how it is reached.
type Options struct {
	Dir      string
	ReadOnly bool
	Now      func() time.Time
	Trace    *slog.Logger
	Hooks
}

// Hooks are for tests.
type Hooks struct {
	Beneath safefs.Options
	Collide func(key.Key) [4]string // forces collisions of the four names
	SetID   bool
	OffFor  time.Duration // how long a tier that is off stays so
}

// ErrOff is wrapped by every error of a place whose root cannot be used.
var ErrOff = errors.New("the disk tier is off")

var (
	errClosed = errors.New("closed")
	errGone   = errors.New("the cache that was held was removed")
)

// Place opens a root when that is needed, and again when another one is there.
type Place struct {
	Options

	root   atomic.Pointer[Root]
	mu     sync.Mutex // serializes opening and closing the root
	closed bool
	off    error     // why the root could not be opened the last time
	offAt  time.Time // when that was
	held   bool      // no other root is opened, see hold
}

// New returns the place of a directory. It does not touch the disk.
func New(o Options) *Place { return &Place{Options: o} }

// Close gives the descriptors back when nobody uses them any more. There is no root
// from then on.
func (p *Place) Close() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.closed = true
	if r := p.root.Swap(nil); r != nil {
		r.Release()
	}
}

func (p *Place) NowNanos() int64 { return p.Now().UnixNano() }

// Hold returns the place of the root that is there now, made if need be, and of no
// other one.
func (p *Place) Hold() (*Place, error) {
	r, err := p.Acquire(true)
	if err != nil {
		return nil, err
	}
	if _, err := r.openMeta(EnsureDir); err != nil { // stays open: see metaGone
		r.Release()
		return nil, fmt.Errorf("hold %s: %w", p.Dir, err)
	}
	held := New(p.Options)
	held.held = true
	held.root.Store(r) // the caller's reference is the place's from here on
	return held, nil
}

// Root is an open root directory. Operations hold it while they run, so
// closing or replacing it pulls no descriptor from under them.
type Root struct {
	Dir  safefs.Dir
	refs atomic.Int64

	first sync.Once // see begin
	now   func() time.Time

	mu    sync.Mutex
	metas *Meta // nil until needed
}

// retryOff is how long a tier that was found off stays off before it is looked at again.
const retryOff = 10 * time.Second

// Acquire returns the root, opened if need be; the caller releases it. create
// makes a root that is not there. Errors wrap ErrOff, or are fs.ErrNotExist
// where there is no root and create is false.
func (p *Place) Acquire(create bool) (*Root, error) {
	if r := p.root.Load(); r != nil && r.retain() {
		return r, nil
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return nil, OffError(p.Dir, errClosed)
	}
	if r := p.root.Load(); r != nil && r.retain() {
		return r, nil
	}
	if p.held {
		return nil, OffError(p.Dir, errGone)
	}
	if p.off != nil && time.Since(p.offAt) < cmp.Or(p.OffFor, retryOff) {
		return nil, p.off
	}
	r, err := p.openRoot(create)
	if err != nil {
		if !errors.Is(err, fs.ErrNotExist) || create {
			err = OffError(p.Dir, err)
			p.off, p.offAt = err, time.Now()
			p.Trace.Warn("disk tier off", "dir", p.Dir, "reason", err)
		}
		return nil, err
	}
	p.off = nil
	r.refs.Store(2) // the store's and the caller's
	p.root.Store(r)
	return r, nil
}

func OffError(dir string, err error) error { return fmt.Errorf("%w: %s: %w", ErrOff, dir, err) }

// dropIfGone forgets a root that was removed while it was in use, or whose
// .meta was, so that the next need makes it anew. It says whether it did.
func (p *Place) dropIfGone(r *Root) bool {
	info, err := r.Dir.Stat()
	if err == nil && info.Links > 0 && !r.metaGone() {
		return false
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.root.CompareAndSwap(r, nil) {
		p.Trace.Debug("disk root is gone", "dir", p.Dir)
		r.Release()
	}
	return true
}

func (r *Root) retain() bool {
	for n := r.refs.Load(); n > 0; n = r.refs.Load() {
		if r.refs.CompareAndSwap(n, n+1) {
			return true
		}
	}
	return false
}

func (r *Root) Release() {
	if r.refs.Add(-1) > 0 {
		return
	}
	if r.metas != nil {
		r.metas.close()
	}
	r.Dir.Close()
}

func (p *Place) openRoot(create bool) (*Root, error) {
	if p.Dir == "" {
		return nil, errors.New("no directory is set")
	}
	if p.SetID || elevated.Now() {
		// It would run code that its caller chose, with rights of another.
		return nil, errors.New("the program has rights that its user has not (set-user-id, or file capabilities): it stores nothing")
	}
	d, info, err := safefs.OpenRoot(p.Dir, p.Beneath)
	if errors.Is(err, fs.ErrNotExist) && create && !p.ReadOnly {
		if err = p.Beneath.Before(safefs.OpMkdirAll); err == nil {
			err = os.MkdirAll(p.Dir, 0o700)
		}
		if err != nil {
			return nil, fmt.Errorf("make the root: %w", err)
		}
		d, info, err = safefs.OpenRoot(p.Dir, p.Beneath)
	}
	switch {
	case errors.Is(err, syscall.ENOTDIR), errors.Is(err, syscall.ELOOP):
		return nil, p.notDirectory()
	case err != nil:
		return nil, err
	}
	if err = p.checkRoot(d, info); err == nil {
		err = p.checkVersion(d)
	}
	if err != nil {
		d.Close()
		return nil, err
	}
	return &Root{Dir: d, now: p.Now}, nil
}

// notDirectory says what is in the place of the root.
func (p *Place) notDirectory() error {
	if info, err := os.Lstat(p.Dir); err == nil && info.Mode()&fs.ModeSymlink != 0 {
		return errors.New("a symbolic link, not a directory: set the directory that it leads to")
	}
	return errors.New("not a directory: remove it, or set another")
}

// Trusted reports whether a file or directory of this owner and mode may be believed.
func (p *Place) Trusted(info safefs.Info) bool {
	if info.Perm&0o022 != 0 || safefs.IsAnybody(info.UID) {
		return false
	}
	return info.UID == uint32(os.Geteuid()) || p.ReadOnly && info.UID == 0
}
