// Package tiered puts stores that other machines share behind one that is near. What the near
// store does not have is asked for in the far ones, in their order, and kept near; what was built
// is kept near at once and uploaded in the background.
//
// A far store is slow, full, wrong or gone at any time. Each call of one has a deadline; one that
// fails is not called for a while, which grows; and nothing but the first of such calls delays
// anybody.
package tiered

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/kernstash/kernstash/internal/flight"
	"github.com/kernstash/kernstash/key"
	"github.com/kernstash/kernstash/reason"
	"github.com/kernstash/kernstash/spool"
	"github.com/kernstash/kernstash/stats"
	"github.com/kernstash/kernstash/store"
)

// Near is the store that is asked first: that of package disk.
type Near interface {
	store.Store
	store.Locker
	store.Blobs
	store.FirstGetter
	store.Explainer
	store.Coster
	store.Totals
	spool.Store
}

// Far is a store behind it. Only Name and Store are required.
type Far struct {
	// Name is for people: reports say that an entry is from there. It holds no password.
	Name string

	// Store has the entries and, if it is a store.Blobs, manifests. What it has is kept nearer
	// only if it is a Fetcher.
	Store store.Store

	// Locker has the leases; nil: there are none. See Store.Lock.
	Locker store.Locker

	Timeout    time.Duration // of one call; 0: 500 ms
	MaxSize    int64         // of an artifact that is put there, in bytes; 0: no limit
	ReadOnly   bool          // nothing is put there, and no lease taken
	NoBackfill bool          // what it has is not kept nearer, being on this machine

	// Present reports whether there is such a store for the time being: one that is not
	// there is neither asked nor failing. It is called at each need, and waits for nobody.
	// Nil: there always is.
	Present func() bool
}

// Fetcher is what the Store of a Far offers that knows what its entries were built from.
type Fetcher interface {
	// Fetch is Get, and the entry holds its recipe, so that another store can keep it.
	Fetch(ctx context.Context, k key.Key) (*store.Entry, error)
}

// Options are the settings of a Store. The zero value has no far stores.
type Options struct {
	Far      []Far          // in the order in which they are asked
	ReadOnly bool           // nothing is put anywhere: neither near what is far, nor far what is built
	Recorder stats.Recorder // takes the counts of remotes and leases, except what stores count of puts and bytes; nil takes none
	Log      *slog.Logger   // is told of remotes that fail; may be nil

	AbsentFor time.Duration // for which it is remembered that an entry is not there; 0: 2 s
	CloseWait time.Duration // for which Close goes on uploading, at most; 0: 2 s

	// What waits to be uploaded to one store is bounded. Over that the oldest is dropped.
	MaxQueueBytes int64 // 0: 64 MiB
	MaxQueued     int   // 0: 1024
}

const (
	defaultTimeout   = 500 * time.Millisecond
	defaultAbsentFor = 2 * time.Second
	defaultCloseWait = 2 * time.Second
	defaultBytes     = 64 << 20
	defaultQueued    = 1024

	// Uploads, which nobody waits for, have longer for large artifacts.
	uploadPerKiB = time.Second / 1024
)

// Store is a near store with others behind it. It is safe for concurrent use. What it does not
// have itself is the near store's: List, HasBlob, the spool, the totals. Make it with [New].
type Store struct {
	Near

	o         Options
	tiers     []*tier
	absent    absent // from far stores
	slow      absent // what far stores did not send in time
	backfills *queue // into the near store

	base context.Context // ends with Close
	end  context.CancelFunc

	fetches flight.Open[key.Key, fetch]

	mu       sync.Mutex
	isClosed bool
	holds    map[key.Key]*hold         // leases
	arrived  map[key.Key]*store.Entry  // while one waited for a lease, until Get or unlock
	coming   map[key.Key]*store.Entry  // found far, and not near yet
	kept     map[key.Digest]key.Digest // manifests, as they are in far stores; see blobs.go
	ahead    atomic.Int64              // how many have arrived or are coming
}

// present returns the far stores that are there.
func (s *Store) present() []*tier {
	away := func(t *tier) bool { return t.Present != nil && !t.Present() }
	if !slices.ContainsFunc(s.tiers, away) {
		return s.tiers
	}
	return slices.DeleteFunc(slices.Clone(s.tiers), away)
}

// tier is a Far and how it does.
type tier struct {
	Far
	index   int
	fetch   func(context.Context, key.Key) (*store.Entry, error)
	blobs   store.Blobs // nil: it has no manifests
	uploads *queue

	// One that may be read may refuse writes or leases; one that does not answer is not
	// asked for anything.
	reads, writes, leases breaker
	pace                  pace // of reads

	patience atomic.Int64 // with a store that is busy, in nanoseconds; 0: busyWait

	// builds is how many here wait for what another machine builds, as this store has said. All
	// who wait call when it is done, so one answer that is late then is not given up.
	builds atomic.Int32
}

// awaited says that one waits for another machine's build until end is called.
func (t *tier) awaited() (end func()) {
	t.builds.Add(1)
	return func() { t.builds.Add(-1) }
}

// New returns a Store. It calls no store. Close it before near, which stays the caller's.
func New(near Near, o Options) *Store {
	o.Recorder = cmp.Or[stats.Recorder](o.Recorder, stats.Noop{})
	o.Log = cmp.Or(o.Log, slog.New(slog.DiscardHandler))
	o.AbsentFor = cmp.Or(o.AbsentFor, defaultAbsentFor)
	o.CloseWait = cmp.Or(o.CloseWait, defaultCloseWait)
	o.MaxQueueBytes, o.MaxQueued = cmp.Or(o.MaxQueueBytes, defaultBytes), cmp.Or(o.MaxQueued, defaultQueued)
	s := &Store{
		Near: near, o: o, backfills: newQueue(o.MaxQueueBytes, o.MaxQueued), holds: make(map[key.Key]*hold),
		arrived: make(map[key.Key]*store.Entry), coming: make(map[key.Key]*store.Entry), kept: make(map[key.Digest]key.Digest),
	}
	s.absent.lasts, s.slow.lasts = o.AbsentFor, o.AbsentFor
	s.base, s.end = context.WithCancel(context.Background())
	for i, far := range o.Far {
		far.Timeout = cmp.Or(far.Timeout, defaultTimeout)
		t := &tier{Far: far, index: i, fetch: far.Store.Get, uploads: newQueue(o.MaxQueueBytes, o.MaxQueued)}
		if f, ok := far.Store.(Fetcher); ok {
			t.fetch = f.Fetch
		}
		t.blobs, _ = far.Store.(store.Blobs)
		s.tiers = append(s.tiers, t)
	}
	return s
}

// Get returns the entry of k from the nearest store that has it; see [store.Store]. A miss for
// MissRemote or MissUntrusted says that the near store has none, and what was the matter farther.
func (s *Store) Get(ctx context.Context, k key.Key) (*store.Entry, error) {
	return s.get(ctx, k, nil)
}

// GetFirst is Get for a caller that needs the first binary alone; see [store.FirstGetter]. Far stores leave
// nothing unread.
func (s *Store) GetFirst(ctx context.Context, k key.Key, buf *store.Buffer) (*store.Entry, error) {
	return s.get(ctx, k, buf)
}

// get is GetFirst, and Get where buf is nil.
func (s *Store) get(ctx context.Context, k key.Key, buf *store.Buffer) (e *store.Entry, err error) {
	if s.ahead.Load() > 0 { // first, as what is not coming any more is near
		if e := cmp.Or(s.takeArrived(k), s.comes(k)); e != nil && ctx.Err() == nil {
			return own(e), nil
		}
	}
	if buf != nil {
		e, err = s.Near.GetFirst(ctx, k, buf)
	} else {
		e, err = s.Near.Get(ctx, k)
	}
	if err == nil || len(s.present()) == 0 || ctx.Err() != nil {
		return e, err
	}
	return s.getFar(ctx, k, err)
}

// own returns a copy of a far store's entry, as Get returns it.
func own(e *store.Entry) *store.Entry {
	return &store.Entry{Key: e.Key, Artifact: e.Artifact.Clone(), From: e.From}
}

// Put stores an entry near, and has it uploaded in the background if it is new there, or its build
// lock is held; see [store.Store]. The result is the near store's.
func (s *Store) Put(ctx context.Context, e *store.Entry) (store.PutResult, error) {
	res, err := s.Near.Put(ctx, e)
	if len(s.present()) == 0 || s.o.ReadOnly || errors.Is(err, store.ErrInvalid) || ctx.Err() != nil {
		return res, err
	}
	s.takeArrived(e.Key)
	if res == store.Existing && !s.holdsLease(e.Key) {
		return res, err // whoever stored it uploads it
	}
	var copied *store.Entry
	for _, t := range s.present() {
		if !t.takes(e.Artifact.Size()) {
			continue
		}
		if copied == nil {
			copied = &store.Entry{Key: e.Key, Recipe: e.Recipe, Artifact: e.Artifact.Clone(), Seal: e.Seal}
		}
		s.upload(t, copied)
	}
	return res, err
}

// takes reports whether an artifact of size bytes may be put there.
func (t *tier) takes(size int64) bool { return !t.ReadOnly && (t.MaxSize <= 0 || size <= t.MaxSize) }

// takes returns how many bytes an entry with a recipe holds while it waits.
func takes(e *store.Entry) int64 {
	n := e.Artifact.Size() + e.Recipe.Image.Size()
	if e.Seal != nil {
		n += int64(len(e.Seal.Payload))
	}
	return n
}

// upload has an entry put into a far store. The entry is not changed any more.
func (s *Store) upload(t *tier, e *store.Entry) {
	size := takes(e)
	added := t.uploads.add(&task{key: e.Key, size: size, do: func() {
		if err := s.write(t, size, func(ctx context.Context) error { _, err := t.Store.Put(ctx, e); return err }); err != nil {
			s.o.Log.Debug("not uploaded", "remote", t.Name, "key", e.Key.Short(), "error", err.Error())
			return
		}
		s.absent.forget(question{tier: t.index, sum: e.Key.Sum})
	}, drop: func() { s.count(stats.RemotePutsDropped) }})
	if !added {
		s.count(stats.RemotePutsDropped)
	}
}

// write makes a call that puts size bytes into a far store, unless that is known to fail. The store
// counts what it puts.
func (s *Store) write(t *tier, size int64, f func(context.Context) error) error {
	if !t.reads.closed() || t.writes.ask() == broken { // a probe makes nobody wait
		s.count(stats.RemoteSkipped)
		s.count(stats.RemotePutsDropped)
		return errBroken
	}
	limit := t.Timeout + uploadPerKiB*time.Duration(size>>10)
	for pause := shortestLook; ; pause *= 2 {
		_, err := call(s, s.base, within(limit), func(ctx context.Context) (struct{}, error) { return struct{}{}, f(ctx) }, nil)
		s.settle(s.base, t, &t.writes, err, limit)
		if !errors.Is(err, store.ErrBusy) || pause > busyLook || flight.Sleep(s.base, jitter(pause)) != nil {
			return err
		}
	}
}

// Delete removes the entry of k near, and from the far stores that are written and can be reached;
// see [store.Store]. What waits to be stored or uploaded of k is not.
func (s *Store) Delete(ctx context.Context, k key.Key) error {
	deadline := time.Now().Add(defaultTimeout)
	s.takeArrived(k)
	s.hasCome(k)
	s.backfills.cancel(k, deadline)
	err := s.Near.Delete(ctx, k)
	if err != nil || s.o.ReadOnly {
		return err
	}
	for _, t := range s.present() {
		t.uploads.cancel(k, deadline)
		if t.ReadOnly || !t.reads.closed() || !t.writes.closed() {
			continue
		}
		limit := t.limit(ctx)
		_, err := call(s, ctx, within(limit), func(ctx context.Context) (struct{}, error) { return struct{}{}, t.Store.Delete(ctx, k) }, nil)
		s.settle(ctx, t, &t.writes, err, limit)
	}
	return ctx.Err()
}

// Flush waits until what was put is uploaded, and what was found is near, at most until deadline,
// and reports whether it is.
func (s *Store) Flush(deadline time.Time) bool {
	done := s.backfills.flush(deadline)
	for _, t := range s.tiers {
		done = t.uploads.flush(deadline) && done
	}
	return done
}

// Close goes on uploading for as long as CloseWait says, and then drops what is left. The near
// store stays open. Later calls reach it alone. Close may be called more than once.
func (s *Store) Close() error {
	s.mu.Lock()
	was := s.isClosed
	s.isClosed = true
	s.mu.Unlock()
	if was {
		return nil
	}
	deadline := time.Now().Add(s.o.CloseWait)
	s.Flush(deadline)
	s.dropLeases()
	for _, t := range s.tiers {
		t.uploads.close()
	}
	s.backfills.close()
	s.end()
	return nil
}

func (s *Store) count(c stats.Counter) { s.o.Recorder.Add(c, 1) }

// missed returns the error of Get: that of the near store, unless what was found out farther tells
// more than that the entry is not there.
func missed(near error, why reason.Reason, cause error) error {
	if why == 0 {
		return near
	}
	if m, ok := errors.AsType[*store.MissError](near); ok && m.Reason != reason.MissAbsent {
		return near
	}
	return &store.MissError{Reason: why, Cause: cause}
}
