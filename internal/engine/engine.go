package engine

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/kernstash/kernstash/internal/contents"
	"github.com/kernstash/kernstash/internal/engine/headers"
	"github.com/kernstash/kernstash/internal/engine/keep"
	"github.com/kernstash/kernstash/internal/flight"
	"github.com/kernstash/kernstash/internal/settings"
	"github.com/kernstash/kernstash/key"
	"github.com/kernstash/kernstash/reason"
	"github.com/kernstash/kernstash/stats"
	"github.com/kernstash/kernstash/store"
)

// Options are what an Engine works with. Settings and Recorder are required.
type Options struct {
	Settings *settings.Settings
	Store    store.Store   // nil: none
	Blobs    store.Blobs   // of manifests and header files; nil: they are not kept
	Layers   []store.Store // read-only, asked in order behind Store
	Recorder stats.Recorder
	Loggers  Loggers

	Recorded func(*Decision) // is called with what became of each group, of all sessions; may be nil

	Stored func(*store.Entry) // is called, in the background, for what was built and stored; may be nil
}

// Loggers take what the engine has to tell. Each may be nil.
type Loggers struct{ Disk, Memory, Keys *slog.Logger }

// Warn tells of something that is not as it should be, if anything is traced.
func (l Loggers) Warn(msg string, args ...any) {
	for _, to := range []*slog.Logger{l.Disk, l.Memory, l.Keys} {
		if to != nil {
			to.Warn(msg, args...)
			return
		}
	}
}

// Engine is what all sessions of a process share. It is safe for concurrent use.
type Engine struct {
	settings *settings.Settings
	store    store.Store
	locker   store.Locker  // of the store; nil: it has none
	stores   []store.Store // asked in order: the store, then the layers
	stats    stats.Recorder
	log      Loggers // none is nil
	warn     func(msg string, args ...any)

	keeper   *keep.Keeper
	recorded func(*Decision) // may be nil
	finder   *headers.Finder
	waits    waits
	busy     busy
	builds   flight.Open[key.Key, building] // that equal requests of the process share
	buffers  sync.Pool                      // of *store.Buffer: see Group.Release

	precompiled headers.Precompiled

	// distrustUntil is until when, in nanoseconds since 1970, waits for other
	// builds are short: one of them ran out.
	distrustUntil atomic.Int64
}

// New returns an Engine. It touches no store. Close it before the stores.
func New(o Options) *Engine {
	l, silent := o.Loggers, slog.New(slog.DiscardHandler)
	l = Loggers{Disk: cmp.Or(l.Disk, silent), Memory: cmp.Or(l.Memory, silent), Keys: cmp.Or(l.Keys, silent)}
	e := &Engine{settings: o.Settings, store: o.Store, stats: o.Recorder, log: l, warn: o.Loggers.Warn, recorded: o.Recorded}
	if o.Store != nil {
		e.stores = append(e.stores, o.Store)
	}
	e.stores = append(e.stores, o.Layers...)
	e.buffers.New = func() any { return new(store.Buffer) }
	e.locker, _ = e.store.(store.Locker)
	refresh := o.Settings.Mode == settings.ModeRefresh
	e.keeper = keep.New(keep.Options{
		Store: o.Store, Blobs: o.Blobs, Refresh: refresh, Stored: o.Stored, Recorder: o.Recorder, Log: l.Disk,
	})
	e.finder = headers.NewFinder(headers.Options{
		Blobs: o.Blobs, Refresh: refresh, Recorder: o.Recorder, Warn: o.Loggers.Warn, Keys: l.Keys, Disk: l.Disk,
		Keep: func(name key.Digest, manifest []byte) {
			if e.Writes() {
				e.keeper.AddManifest(name, manifest)
			}
		},
	})
	return e
}

// Writes reports whether there is a store that may be written.
func (e *Engine) Writes() bool { return e.store != nil && e.settings.Mode != settings.ModeReadOnly }

// Reads reports whether there is a store to find artifacts in.
func (e *Engine) Reads() bool { return len(e.stores) > 0 }

// Flush waits until everything that was built is stored, at most until deadline, and
// reports whether it is.
func (e *Engine) Flush(deadline time.Time) bool { return e.keeper.Flush(deadline) }

// FlushArtifacts is Flush for all but the contents of header files: an artifact is
// good without them.
func (e *Engine) FlushArtifacts(deadline time.Time) bool { return e.keeper.FlushArtifacts(deadline) }

// Close ends all waits for other builds, stores what waits to be stored, until deadline, and returns how many artifacts
// were dropped. Nothing is stored after it.
func (e *Engine) Close(deadline time.Time) (dropped int) {
	e.waits.close(deadline)
	return e.keeper.Close(deadline)
}

// Awaiting notes that a build of this process, which may hold its build lock, waits
// for the application, until done is called. Meanwhile no build of this process waits
// for another process: two of them could wait for each other.
func (e *Engine) Awaiting() (done func()) { return e.waits.hold() }

// Awaited returns how many builds Awaiting was called for and not done.
func (e *Engine) Awaited() int {
	e.waits.mu.Lock()
	defer e.waits.mu.Unlock()
	return e.waits.holding
}

// building is a build under way in the process that equal requests share. What came of it is
// set before done is closed.
type building struct {
	key  key.Key
	done chan struct{}

	ended    bool            // it was built, or failed; else it was given up
	artifact *store.Artifact // for others; nil: there is none
	err      error           // of the compiler
}

// found is what the stores have of a key.
type found struct {
	entry *store.Entry // nil: a miss
	from  store.Store
	why   reason.Reason // of the miss
}

// find asks the store, then the layers. With a buffer they may leave all but the first binary
// unread; see store.FirstGetter.
func (e *Engine) find(ctx context.Context, k key.Key, buf *store.Buffer) found {
	why := reason.MissTierOff
	for i, s := range e.stores {
		var entry *store.Entry
		var err error
		if first, ok := s.(store.FirstGetter); ok && buf != nil {
			entry, err = first.GetFirst(ctx, k, buf)
		} else {
			entry, err = s.Get(ctx, k)
		}
		if err == nil {
			if s == e.store {
				contents.SaveSoon()
			}
			return found{entry: entry, from: s}
		}
		if miss, ok := errors.AsType[*store.MissError](err); ok && i == 0 {
			why = miss.Reason // that of the writable root says most
		}
		e.log.Disk.Debug("miss", "key", k.Short(), "reason", err.Error())
	}
	return found{why: why}
}

// Artifact returns all that the stores have of a key of which a first binary was served,
// without counting it; nil: nothing. An entry that is damaged behind that goes: it would be
// served for ever, and nobody would store it anew.
func (e *Engine) Artifact(ctx context.Context, k key.Key) *store.Artifact {
	f := e.find(ctx, k, nil)
	if f.entry == nil {
		if f.why == reason.MissDigest {
			e.discard(ctx, e.store, k)
		}
		return nil
	}
	return f.entry.Artifact
}

// discard removes an entry that no driver takes. That of a layer stays: the next
// build's entry is found before it.
func (e *Engine) discard(ctx context.Context, from store.Store, k key.Key) {
	if from != e.store || !e.Writes() {
		return
	}
	if err := from.Delete(ctx, k); err != nil {
		e.warn("refused artifact not deleted", "key", k.Short(), "error", err.Error())
	}
}
