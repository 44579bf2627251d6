package kernstash

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/kernstash/kernstash/internal/contents"
	"github.com/kernstash/kernstash/internal/settings"
	"github.com/kernstash/kernstash/key"
	"github.com/kernstash/kernstash/stats"
	"github.com/kernstash/kernstash/store"
)

// maxPending bounds the bytes of artifacts that wait to be written. Over it
// the oldest is dropped: a slow disk must not fill the application's memory.
const maxPending = 256 << 20

// storing is one artifact on its way to disk, or a manifest, or header files alone.
type storing struct {
	entry   *store.Entry
	explain bool                  // say what the nearest entry is, before this one is there
	unlock  func()                // ends the build lock; may be nil
	headers map[key.Digest][]byte // contents of header files, as far as they are at hand
	kept    map[key.Digest]bool   // those that went before; see Cache.keepHeaders
	was     key.Digest            // of the image before header files changed; zero: not known

	decision *decision // to be told when the nearest entry is known; may be nil
	ahead    *ahead    // what was done before there was an artifact; may be nil
	forgo    bool      // entry is nil: undo that

	manifest []byte // entry is nil; so it is where there are header files alone, or work ahead
	name     key.Digest
}

// size is what it takes in memory.
func (w *storing) size() int64 {
	n := int64(len(w.manifest))
	if w.entry != nil && w.entry.Artifact != nil {
		n += w.entry.Artifact.Size()
	}
	for _, content := range w.headers {
		n += int64(len(content))
	}
	return n
}

// ofHeaders says whether there is nothing to it but contents of header files.
func (w *storing) ofHeaders() bool {
	return w.entry == nil && w.manifest == nil && w.ahead == nil
}

// ofArtifact says whether an artifact is stored, or got ready for.
func (w *storing) ofArtifact() bool { return w.entry != nil || w.ahead != nil }

// storer writes artifacts in the background, so that nobody who asked for a
// program waits for the disk. Its goroutine lives only while there is work.
//
// Contents of header files come last, a few at a time: of a library they are a thousand
// files, which may take longer than to compile, and a process that ends then is to have
// stored its artifact. That is good without them.
type storer struct {
	c *Cache

	mu        sync.Mutex
	queue     []storing
	later     []storing // of header files
	bytes     int64     // of both
	artifacts int       // queued or being written, with what is done ahead of them
	prompt    bool      // something is being written that is not of header files
	running   bool
	closed    bool
	idle      *sync.Cond // nothing is left, or nothing but header files
}

func newStorer(c *Cache) *storer {
	s := &storer{c: c}
	s.idle = sync.NewCond(&s.mu)
	return s
}

// add queues an artifact. It takes the build lock over, and does not block.
func (s *storer) add(w storing) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed || s.c.written == nil {
		s.drop(w)
		return
	}
	s.bytes += w.size()
	if w.ofHeaders() {
		s.later = append(s.later, w)
	} else {
		s.queue = append(s.queue, w)
	}
	if w.ofArtifact() {
		s.artifacts++
	}
	for s.bytes > maxPending && len(s.later)+len(s.queue) > 1 {
		if len(s.later) > 0 {
			s.bytes -= s.later[0].size()
			s.later = s.later[1:]
			continue
		}
		old := s.pop()
		s.drop(old)
		s.through(old)
	}
	if !s.running {
		s.running = true
		go s.run()
	}
}

// addIfIdle queues what is of use only if it is done at once, and says whether it did.
func (s *storer) addIfIdle(w storing) bool {
	s.mu.Lock()
	idle := s.artifacts == 0
	s.mu.Unlock()
	if idle {
		s.add(w)
	}
	return idle
}

func (s *storer) pop() storing {
	w := s.queue[0]
	s.queue[0] = storing{}
	s.queue = s.queue[1:]
	s.bytes -= w.size()
	return w
}

// through counts an artifact that is written, or was dropped.
func (s *storer) through(w storing) {
	if w.ofArtifact() {
		s.artifacts--
	}
}

// headersAtOnce is how many header files are written before it is looked whether
// something else is to be.
const headersAtOnce = 8

// popHeaders returns a few header files.
func (s *storer) popHeaders() storing {
	first := &s.later[0]
	if len(first.headers) <= headersAtOnce {
		w := *first
		s.later = s.later[1:]
		s.bytes -= w.size()
		return w
	}
	few := storing{headers: make(map[key.Digest][]byte, headersAtOnce)}
	for d, content := range first.headers {
		if len(few.headers) == headersAtOnce {
			break
		}
		few.headers[d] = content
		delete(first.headers, d)
	}
	s.bytes -= few.size()
	return few
}

func (s *storer) drop(w storing) {
	if w.entry != nil && w.entry.Artifact != nil {
		s.c.stats.Add(stats.DiskPutsDropped, 1)
	}
	w.decision.tell("")
	if w.unlock != nil {
		w.unlock()
	}
}

func (s *storer) run() {
	s.mu.Lock()
	for len(s.queue)+len(s.later) > 0 {
		s.prompt = len(s.queue) > 0
		var w storing
		if s.prompt {
			w = s.pop()
		} else {
			w = s.popHeaders()
		}
		s.mu.Unlock()
		s.store(w)
		s.mu.Lock()
		s.through(w)
		if s.prompt = false; len(s.queue) == 0 {
			s.idle.Broadcast()
		}
	}
	s.running = false
	s.idle.Broadcast()
	s.mu.Unlock()
}

// store writes one artifact. Whatever goes wrong is counted by the store.
func (s *storer) store(w storing) {
	unlock := func() {
		if w.unlock != nil {
			w.unlock()
			w.unlock = nil
		}
	}
	defer unlock()
	ctx := context.Background()
	if w.entry == nil && w.ahead != nil {
		s.workAhead(ctx, w)
		return
	}
	if w.entry == nil && w.manifest == nil {
		s.putHeaders(ctx, w.headers)
		return
	}
	if w.entry == nil {
		if err := s.c.written.PutBlob(ctx, store.Manifests, w.name, w.manifest); err != nil {
			on(s.c.trace.disk, func(l *slog.Logger) { l.Debug("manifest not kept", "reason", err.Error()) })
		}
		return
	}
	k := w.entry.Key.Short()
	if w.explain {
		w.decision.tell(s.explain(ctx, w))
	}
	w.entry.Headers = s.c.headerContents(w.entry.Recipe, w.headers, w.kept)
	if w.entry.Artifact == nil { // another process's to make
		s.forgo(ctx, w.ahead)
		s.putHeaders(ctx, w.entry.Headers)
		return
	}
	result, err := s.put(ctx, w.entry)
	if err != nil {
		s.forgo(ctx, w.ahead)
	} else {
		unlock() // nobody who waits for the entry needs what follows
		contents.Save()
	}
	on(s.c.trace.disk, func(l *slog.Logger) {
		if err != nil {
			l.Warn("not stored", "key", k, "error", err.Error())
			return
		}
		l.Debug("put", "key", k, "result", result, "bytes", w.entry.Artifact.Size(), "cost", w.entry.Artifact.Cost)
	})
}

// putHeaders stores contents of header files. Entries are good without them.
func (s *storer) putHeaders(ctx context.Context, headers map[key.Digest][]byte) {
	for d, content := range headers {
		if err := s.c.written.PutBlob(ctx, store.Headers, d, content); err != nil {
			on(s.c.trace.disk, func(l *slog.Logger) { l.Warn("header not kept", "digest", d.Dir(), "reason", err.Error()) })
		}
	}
}

// put stores an entry; in mode refresh in the place of any that is there.
func (s *storer) put(ctx context.Context, e *store.Entry) (store.PutResult, error) {
	if s.c.settings.Mode == settings.ModeRefresh {
		if err := s.c.written.Delete(ctx, e.Key); err != nil {
			return store.Failed, err
		}
	}
	return s.c.written.Put(ctx, e)
}

// explain counts which component of the key made the miss, and returns it for
// people; "" where that cannot be told.
func (s *storer) explain(ctx context.Context, w storing) string {
	near, err := s.nearest(ctx, w)
	if err != nil {
		return "" // no reason is better than a wrong one
	}
	s.c.stats.Add(stats.Of(near.Reason), 1)
	on(s.c.trace.disk, func(l *slog.Logger) {
		l.Info("miss explained", "key", w.entry.Key.Short(), "nearest", near.Key.Short(), "why", near.Text)
	})
	return near.Text
}

// nearest is what was found while the compiler was busy, or is found now.
func (s *storer) nearest(ctx context.Context, w storing) (store.Difference, error) {
	if w.ahead != nil && w.ahead.explained {
		return w.ahead.nearest, nil
	}
	return s.c.nearest(ctx, w.entry.Recipe, w.was)
}

// flush waits until nothing is left or deadline; true: nothing is.
func (s *storer) flush(deadline time.Time) bool {
	return s.await(deadline, func() bool { return !s.running })
}

// flushArtifacts is flush for all but header files.
func (s *storer) flushArtifacts(deadline time.Time) bool {
	return s.await(deadline, func() bool { return len(s.queue) == 0 && !s.prompt })
}

// await waits until there is no more, or deadline, and returns which.
func (s *storer) await(deadline time.Time, done func() bool) bool {
	timer := time.AfterFunc(time.Until(deadline), func() {
		s.mu.Lock() // else the signal may come between a waiter's look and its wait
		defer s.mu.Unlock()
		s.idle.Broadcast()
	})
	defer timer.Stop()
	s.mu.Lock()
	defer s.mu.Unlock()
	for !done() && time.Now().Before(deadline) {
		s.idle.Wait()
	}
	return done()
}

// close writes what is queued until deadline, and returns how many artifacts
// were dropped.
func (s *storer) close(deadline time.Time) (dropped int) {
	s.flush(deadline)
	s.mu.Lock()
	s.closed = true
	left := s.queue
	s.queue, s.later, s.bytes, s.artifacts = nil, nil, 0, 0
	if s.prompt {
		dropped++ // one is being written still
		s.artifacts++
	}
	s.mu.Unlock()
	for _, w := range left {
		if s.drop(w); w.entry != nil && w.entry.Artifact != nil {
			dropped++
		}
	}
	return dropped
}
