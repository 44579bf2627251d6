// Package disk keeps artifacts in a directory that many processes share.
//
//	<root>/<device>/<image>/<constants>/<options>/<n>.bin   the artifact
//	                                             /<n>.src   its recipe
//	<root>/.meta                                            locks, account, statistics
//
// The directory is the index: nothing is opened or read before a request needs it, and a
// hit reads one file. Readers take no lock, since a file appears complete or not at all;
// digests are checked at every load, so nothing is forced to the medium and what a crash
// tears is a miss. docs/FORMAT.md specifies every file.
//
// No trouble of the disk harms the caller. A root that cannot be trusted turns
// the tier off, with a reason that [Store.Status] tells.
package disk

import (
	"cmp"
	"fmt"
	"io"
	"log/slog"
	"path/filepath"
	"sync/atomic"
	"time"

	"github.com/kernstash/kernstash/internal/safefs"
	"github.com/kernstash/kernstash/key"
	"github.com/kernstash/kernstash/spool"
	"github.com/kernstash/kernstash/stats"
	"github.com/kernstash/kernstash/store"
	"github.com/kernstash/kernstash/store/disk/evict"
	"github.com/kernstash/kernstash/store/disk/internal/rootdir"
)

// Policy says which entries go first when the limit is passed.
type Policy = evict.Policy

// The policies.
const (
	LRU  = evict.LRU
	Cost = evict.Cost
)

// Options are the settings of a Store. Only Dir is required.
type Options struct {
	Dir    string           // the root; it is made, mode 0700, when something is first stored
	Policy Policy           // what is evicted first
	Now    func() time.Time // replaces the clock
	Trace  *slog.Logger     // gets a line for everything that is worth one; may be nil

	// ReadOnly makes this a layer: it is never written, and may belong to
	// root and be readable, though not writable, by others.
	ReadOnly bool

	// MaxSize is the limit in bytes, 0 is none: of what du shows, directories included.
	// What another version of kernstash keeps in the same directory does not count.
	MaxSize int64

	// Vetter, if not nil, is asked before something is handed out. What it refuses is a miss,
	// reason.MissUntrusted, is not put, and does not keep another from being put in its place.
	Vetter Vetter

	// Records says that what is evicted is noted where records are kept; see [store.Records].
	Records bool

	// KeepAccess leaves the time of an entry's last use as it is when it is read: the
	// reader is no application.
	KeepAccess bool

	// Recorder takes the counts of puts, evictions, bytes and damage; nil takes none. Hits
	// and misses are the caller's to count, who may ask several stores.
	Recorder stats.Recorder

	hooks hooks
}

// Vetter reports whether the seal with which an entry or a manifest was put, nil where it has none, lets it
// be handed out.
type Vetter interface {
	Vet(k key.Key, seal []byte, bin io.Reader) error // bin reads the .bin of the entry
	VetBlob(manifest key.Digest, seal, content []byte) error
}

// hooks are for tests.
type hooks struct {
	rootdir.Hooks
	counted func(s *Store) // called at each leaf that an evictor counts
	bounds  evict.Bounds
}

// WithFiles returns o with another way to reach files: slower ones, and calls
// that fail. It is for kernstash's own tests.
func (o Options) WithFiles(b safefs.Options) Options {
	o.hooks.Beneath = b
	return o
}

// ErrOff is wrapped by every error of a store whose tier is off.
var ErrOff = rootdir.ErrOff

// Store is the disk tier. It is safe for concurrent use by goroutines and
// processes. Make it with [New].
type Store struct {
	o  Options
	at *rootdir.Place

	buildLocks atomic.Int64 // that are held
	evictor    *evict.Evictor
}

var (
	_ store.Store       = (*Store)(nil)
	_ store.Blobs       = (*Store)(nil)
	_ store.Locker      = (*Store)(nil)
	_ store.Explainer   = (*Store)(nil)
	_ store.FirstGetter = (*Store)(nil)
	_ store.Totals      = (*Store)(nil)
	_ store.Records     = (*Store)(nil)
	_ spool.Store       = (*Store)(nil)
)

// New returns the store of a directory. It does not touch the disk.
func New(o Options) *Store {
	o.Recorder = cmp.Or[stats.Recorder](o.Recorder, stats.Noop{})
	o.Trace = cmp.Or(o.Trace, slog.New(slog.DiscardHandler))
	if o.Now == nil {
		o.Now = time.Now
	}
	if abs, err := filepath.Abs(o.Dir); err == nil && o.Dir != "" {
		o.Dir = abs
	}
	return newStore(o, rootdir.New(rootdir.Options{Dir: o.Dir, ReadOnly: o.ReadOnly, Now: o.Now, Trace: o.Trace, Hooks: o.hooks.Hooks}))
}

func newStore(o Options, at *rootdir.Place) *Store {
	s := &Store{o: o, at: at}
	s.evictor = s.newEvictor()
	return s
}

// Close waits a bounded time for a running evictor and gives the descriptors back. Build
// locks that are held stay until they are unlocked. Every later call is answered as by a
// tier that is off. Close may be called more than once.
func (s *Store) Close() error {
	// The evictor first: in a program of a few puts it runs only now.
	s.evictor.Stop(closeWait)
	s.at.Close()
	return nil
}

// closeWait bounds how long Close waits for the evictor, which makes do with
// what it has seen after half of it.
const closeWait = 2 * time.Second

func (s *Store) count(c stats.Counter, n int64) { s.o.Recorder.Add(c, n) }

// Hold returns a store of the root that is there now, made if need be, and of no other:
// once that root or its .meta is removed, nothing more is written, even where another
// cache is at the path by then. The caller closes it; s stays as it is.
func (s *Store) Hold() (*Store, error) {
	if err := s.at.Writable(); err != nil {
		return nil, fmt.Errorf("hold: %w", err)
	}
	at, err := s.at.Hold()
	if err != nil {
		return nil, err
	}
	return newStore(s.o, at), nil
}
