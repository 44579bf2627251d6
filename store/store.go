// Package store holds the contract of a place that keeps artifacts: what a
// build made, addressed by its key. Package store/storetest checks an
// implementation against it.
package store

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"time"

	"github.com/kernstash/kernstash/key"
	"github.com/kernstash/kernstash/reason"
)

// Store keeps artifacts. Implementations are safe for concurrent use by many
// goroutines and, where the medium is shared, by many processes. No trouble of
// a store harms its caller: every method returns, and a failure of Get is a
// miss.
type Store interface {
	// Get returns the entry of k. Its artifact has been checked against the
	// digests it was stored with, and k compared in full. The caller owns the
	// entry; its Recipe is nil. Whatever prevents this is a *MissError, which
	// wraps ErrNotFound.
	Get(ctx context.Context, k key.Key) (*Entry, error)

	// Put stores an entry, which must hold a recipe and an artifact and is not
	// changed. An entry that is there already is replaced if it is damaged or
	// if the new artifact is better (see Artifact.Better); else Put changes
	// nothing and succeeds. Readers see the old entry, the new one, or none,
	// never a part.
	Put(ctx context.Context, e *Entry) (PutResult, error)

	// Delete removes the entry of k. An entry that is not there is no error.
	Delete(ctx context.Context, k key.Key) error

	// List yields all entries in no particular order, damaged ones with Bad
	// set. Entries that come or go meanwhile may be yielded or not. An error
	// ends the sequence.
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

// ErrLocked says that somebody else held the lock for as long as one waited.
var ErrLocked = errors.New("locked by another build")

// ErrNotFound is wrapped by every error of Get.
var ErrNotFound = errors.New("not in the cache")

// ErrTooLarge is wrapped by Put for an artifact that is larger than the store.
var ErrTooLarge = errors.New("larger than the cache")

// ErrDropped is wrapped by Put when the store is full and the evictor has not
// caught up.
var ErrDropped = errors.New("dropped, the cache is full")

// ErrInvalid is wrapped by Put for an entry without a recipe, an artifact or
// code, or whose key is not its recipe's.
var ErrInvalid = errors.New("invalid entry")

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
