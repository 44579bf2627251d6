// Package store holds the contracts of a place that keeps artifacts: what a build made,
// addressed by its key. Every store is a [Store]. One that is written while programs are
// built is a [Locker], too; the other interfaces are optional. Package store/storetest
// checks an implementation against all that it offers.
package store

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"time"

	"github.com/kernstash/kernstash/key"
	"github.com/kernstash/kernstash/reason"
	"github.com/kernstash/kernstash/stats"
)

// Store keeps artifacts. Implementations are safe for concurrent use by many goroutines
// and, where the medium is shared, by many processes. No trouble of a store harms its
// caller: every method returns, and a failure of Get is a miss.
type Store interface {
	// Get returns the entry of k. Its artifact has been checked against the digests it was
	// stored with, and k compared in full. The caller owns the entry; its Recipe is nil.
	// Whatever prevents this is a *MissError, which wraps ErrNotFound.
	Get(ctx context.Context, k key.Key) (*Entry, error)

	// Put stores an entry, which must hold a recipe and an artifact and is not changed. An
	// entry that is there already is replaced if it is damaged or if the new artifact is
	// better (see Artifact.Better); else Put changes nothing and succeeds. Readers see the
	// old entry, the new one, or none, never a part.
	Put(ctx context.Context, e *Entry) (PutResult, error)

	// Delete removes the entry of k. An entry that is not there is no error.
	Delete(ctx context.Context, k key.Key) error

	// List yields all entries in no particular order, damaged ones with Bad set. Entries
	// that come or go meanwhile may be yielded or not. An error ends the sequence.
	List(ctx context.Context) iter.Seq2[Info, error]
}

// Locker is what a Store offers that can make others wait for one build.
type Locker interface {
	// Lock takes the build lock of k, waiting at most wait (zero or less: not
	// at all) and no longer than ctx. Unlock must be called once, from any
	// goroutine. The lock ends with the process that holds it. ErrLocked: the
	// wait ended; any other error: there are no locks here, build without.
	Lock(ctx context.Context, k key.Key, wait time.Duration) (unlock func(), err error)
}

// FirstGetter is what a Store offers that can leave unread what few who hit need.
type FirstGetter interface {
	// GetFirst is Get for a caller that needs the first binary alone: the others may be left unread,
	// and unchecked, as the artifact's Rest. The code may be in the memory of buf, which is not nil
	// and which the store does not touch once it has returned.
	GetFirst(ctx context.Context, k key.Key, buf *Buffer) (*Entry, error)
}

// Buffer is memory that code is read into: getting new memory for large code takes about as long as reading it. The
// zero value has none. A Buffer holds the code of one entry at a time; who uses it again has to know that nobody reads
// that code any more.
type Buffer struct{ memory []byte }

// Bytes returns n bytes, of any content. They share their memory with those that it returned before, if that was enough.
func (b *Buffer) Bytes(n int64) []byte {
	if int64(cap(b.memory)) < n {
		b.memory = make([]byte, n)
	}
	return b.memory[:n]
}

// Kind says what a blob is of.
type Kind string

// The kinds of blob.
const (
	// Headers are contents of header files, named by their SHA-256.
	Headers Kind = "headers"

	// Manifests say what a build reads. They are named by what it was asked for.
	Manifests Kind = "manifests"
)

// Blobs is what a Store offers that keeps bytes which are no entries: what several
// entries have in common, or what finding an entry needs. A store may keep no blobs of a kind:
// PutBlob refuses them with ErrNotKept, and GetBlob misses.
type Blobs interface {
	// GetBlob returns a blob, which the caller owns. The contents of a header have
	// been checked against the name; a manifest has digests of its own, which
	// have not been checked. Whatever prevents this is a *MissError.
	GetBlob(ctx context.Context, kind Kind, name key.Digest) ([]byte, error)

	// HasBlob reports whether there is a blob of size bytes. It does not read it,
	// so GetBlob may fail all the same.
	HasBlob(kind Kind, name key.Digest, size int64) bool

	// PutBlob keeps a copy of content. A header that is there stays, and content that does
	// not have its name's digest is refused with ErrInvalid; a manifest replaces the one
	// that is there. Readers see the old blob, the new one, or none, never a part.
	PutBlob(ctx context.Context, kind Kind, name key.Digest, content []byte) error
}

// Explainer is what a Store offers that can say why an entry is missing.
type Explainer interface {
	// Nearest looks for an entry that differs from a recipe in one component. It is called
	// on a miss, and takes a bounded time. previous, unless zero, is the digest that the
	// image had before header files changed. That nothing is near is no error.
	Nearest(ctx context.Context, r *key.Recipe, previous key.Digest) (Difference, error)
}

// NothingNear is the Text of a [Difference] with reason.NearestNothing.
const NothingNear = "nothing near it"

// Difference is what keeps a recipe from the nearest entry.
type Difference struct {
	Reason reason.Reason // one of reason.Nearest…
	Key    key.Key       // of the nearest entry; zero with reason.NearestNothing
	Text   string        // for people: driver "3.1" was "3.0"
}

// Totals is what a Store offers that adds up the statistics of all processes.
type Totals interface {
	// AddStats adds to the totals. It waits for nobody.
	AddStats(delta stats.Snapshot) error
}

// Records is what a Store offers that keeps records of processes: lines of package records.
type Records interface {
	// AppendRecords keeps lines. It waits for nobody for long. After an error that wraps
	// records.ErrTorn some of them may have been kept.
	AppendRecords(lines []byte) error
}

// ErrLocked says that somebody else held the lock for as long as one waited.
var ErrLocked = errors.New("locked by another build")

// ErrNotFound is wrapped by every error of Get.
var ErrNotFound = errors.New("not in the cache")

// ErrTooLarge is wrapped by Put for an artifact that is larger than the store.
var ErrTooLarge = errors.New("larger than the cache")

// ErrStays is wrapped by Put where what is there must stay: another put of the same entry would end
// in the same way.
var ErrStays = errors.New("what is there stays")

// ErrDropped is wrapped by Put when the store is full and the evictor has not caught up.
var ErrDropped = errors.New("dropped, the cache is full")

// ErrBusy is wrapped by what a store answers that works, and asks to be called less often.
var ErrBusy = errors.New("asks to be called less often")

// ErrSlow is wrapped by what a store answers that works, and does not come to an entry in time: others it may have.
var ErrSlow = errors.New("it does not come in time")

// ErrInvalid is wrapped by Put for an entry without a recipe, an artifact or
// code, or whose key is not its recipe's.
var ErrInvalid = errors.New("invalid entry")

// ErrNotKept is wrapped by PutBlob for a kind of blob that the store does not keep.
var ErrNotKept = errors.New("blobs of this kind are not kept here")

// MissError says why Get found nothing. It wraps ErrNotFound.
type MissError struct {
	Reason reason.Reason // one of reason.Miss…
	Cause  error         // may be nil
}

func (e *MissError) Error() string {
	if e.Cause != nil {
		return fmt.Sprintf("%v: %v", ErrNotFound, e.Cause)
	}
	return fmt.Sprintf("%v: %v", ErrNotFound, e.Reason)
}

// Is reports ErrNotFound.
func (e *MissError) Is(target error) bool { return target == ErrNotFound }

func (e *MissError) Unwrap() error { return e.Cause }

// PutResult says what Put did.
type PutResult uint8

// The results of Put.
const (
	Failed   PutResult = iota // an error says why
	Stored                    // there was no entry; now there is
	Bettered                  // a worse or damaged entry was replaced
	Existing                  // as good an entry was there; nothing changed
)

// CountPut counts what Put did: every implementation counts alike.
func CountPut(to stats.Recorder, res PutResult, written int64, err error) {
	switch {
	case errors.Is(err, ErrDropped):
		to.Add(stats.DiskPutsDropped, 1)
	case res == Stored:
		to.Add(stats.DiskPuts, 1)
		to.Add(stats.DiskBytesWritten, written)
	case res == Bettered:
		to.Add(stats.DiskPutsBettered, 1)
		to.Add(stats.DiskBytesWritten, written)
	case res == Existing:
		to.Add(stats.DiskPutsExisting, 1)
	default:
		to.Add(stats.DiskPutFailures, 1)
	}
}

// Info describes an entry without its code.
type Info struct {
	Key      key.Key       // component digests beyond 16 bytes are known only from the recipe
	Device   key.Device    // from the recipe; empty where that is lost
	Size     int64         // bytes on the medium, recipe included
	Created  time.Time     // when it was stored
	Accessed time.Time     // when it was last used, as far as recorded
	Cost     time.Duration // what building it took
	Kernels  []string      // kernel names
	Location string        // where it is: a path below the root, an object name
	Bad      error         // why the entry cannot hit; nil for a good one
}
