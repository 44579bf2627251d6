// Package keep writes what was built to a store, in the background: entries, what they
// have in common, and what finding them needs.
package keep

import (
	"cmp"
	"context"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/kernstash/kernstash/internal/flight"
	"github.com/kernstash/kernstash/key"
	"github.com/kernstash/kernstash/stats"
	"github.com/kernstash/kernstash/store"
)

// maxPending bounds the bytes of what waits to be written. Over it the oldest is
// dropped: a slow disk must not fill the application's memory.
const maxPending = 256 << 20

// headersAtOnce is how many header files are written before anything else may come first.
const headersAtOnce = 8

// Keeper writes in the background, so that nobody who asked for a program waits for the
// disk. Its goroutine lives only while there is work.
//
// Contents of header files come last, a few at a time: of a library they are a thousand
// files, which may take longer than to compile, and a process that ends then is to have
// stored its artifact. That is good without them.
type Keeper struct {
	o Options

	mu      sync.Mutex
	queue   []*task
	later   []*task // contents of header files
	bytes   int64   // of both
	prompt  bool    // what is under way is not of header files
	running bool
	closed  bool
	idle    *sync.Cond // nothing is left, or nothing but header files
}

// task is something to be written, or searched.
type task struct {
	size int64                 // in memory
	do   func(context.Context) // whatever goes wrong is counted by the store
	drop func() bool           // gives it up, and reports whether an artifact is lost; nil: nothing is
}

func (t *task) dropped() bool { return t.drop != nil && t.drop() }

// Options are what a Keeper works with. Recorder is required.
type Options struct {
	Store    store.Store        // nil: none, and everything is dropped
	Blobs    store.Blobs        // of manifests and header files; nil: they are not kept
	Refresh  bool               // entries replace any that are there
	Stored   func(*store.Entry) // is called for each that the store was without, or had a worse one of; may be nil
	Recorder stats.Recorder
	Log      *slog.Logger // may be nil
}

// New returns a Keeper. Close it before the store.
func New(o Options) *Keeper {
	o.Log = cmp.Or(o.Log, slog.New(slog.DiscardHandler))
	k := &Keeper{o: o}
	k.idle = sync.NewCond(&k.mu)
	return k
}

// Add has an entry stored, which takes the build lock over. It does not block.
func (k *Keeper) Add(e Entry) {
	k.add(&task{
		size: e.size(),
		do:   func(ctx context.Context) { e.do(ctx, k) },
		drop: func() bool { return e.drop(k) },
	})
}

// AddHeaders has contents of header files kept.
func (k *Keeper) AddHeaders(contents map[key.Digest][]byte) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if !k.accepts() {
		return
	}
	for digests := range slices.Chunk(slices.Collect(maps.Keys(contents)), headersAtOnce) {
		few := make(map[key.Digest][]byte, headersAtOnce)
		for _, d := range digests {
			few[d] = contents[d]
		}
		k.later = append(k.later, &task{size: sizeOf(few), do: func(ctx context.Context) { k.putHeaders(ctx, few) }})
	}
	k.added(sizeOf(contents))
}

// AddManifest has a manifest kept.
func (k *Keeper) AddManifest(name key.Digest, content []byte) {
	if k.o.Blobs == nil {
		return
	}
	k.add(&task{size: int64(len(content)), do: func(ctx context.Context) {
		if err := k.o.Blobs.PutBlob(ctx, store.Manifests, name, content); err != nil {
			k.o.Log.Debug("manifest not kept", "reason", err.Error())
		}
	}})
}

// add queues a task. It does not block.
func (k *Keeper) add(t *task) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if !k.accepts() {
		t.dropped()
		return
	}
	k.queue = append(k.queue, t)
	k.added(t.size)
}

func (k *Keeper) accepts() bool { return !k.closed && k.o.Store != nil }

// added makes room for so many bytes that were added, and sees that they are written.
func (k *Keeper) added(bytes int64) {
	k.bytes += bytes
	for bytes > 0 && k.bytes > maxPending && len(k.later)+len(k.queue) > 1 {
		if len(k.later) > 0 {
			k.pop(&k.later)
		} else {
			k.pop(&k.queue).dropped()
		}
	}
	if !k.running {
		k.running = true
		go k.run()
	}
}

// Search has the nearest entry to a recipe searched while its compiler is busy. previous is
// the digest that the image had before header files changed; zero: not known.
func (k *Keeper) Search(r *key.Recipe, previous key.Digest) *Search {
	s := new(Search)
	k.add(&task{do: func(ctx context.Context) { s.found = k.nearest(ctx, r, previous) }})
	return s
}

// pop takes the oldest task of a queue.
func (k *Keeper) pop(queue *[]*task) *task {
	t := (*queue)[0]
	(*queue)[0] = nil
	*queue = (*queue)[1:]
	k.bytes -= t.size
	return t
}

func (k *Keeper) run() {
	k.mu.Lock()
	for len(k.queue)+len(k.later) > 0 {
		from := &k.later
		if k.prompt = len(k.queue) > 0; k.prompt {
			from = &k.queue
		}
		t := k.pop(from)
		k.mu.Unlock()
		t.do(context.Background())
		k.mu.Lock()
		if k.prompt = false; len(k.queue) == 0 {
			k.idle.Broadcast()
		}
	}
	k.running = false
	k.idle.Broadcast()
	k.mu.Unlock()
}

// Flush waits until nothing is left, or deadline, and reports whether nothing is.
func (k *Keeper) Flush(deadline time.Time) bool {
	return k.await(deadline, func() bool { return !k.running })
}

// FlushArtifacts is flush for all but header files.
func (k *Keeper) FlushArtifacts(deadline time.Time) bool {
	return k.await(deadline, func() bool { return len(k.queue) == 0 && !k.prompt })
}

func (k *Keeper) await(deadline time.Time, done func() bool) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	return flight.Await(k.idle, deadline, done)
}

// Close writes what is queued until deadline, and returns how many artifacts were
// dropped.
func (k *Keeper) Close(deadline time.Time) (dropped int) {
	k.Flush(deadline)
	k.mu.Lock()
	k.closed = true
	left := k.queue
	k.queue, k.later, k.bytes = nil, nil, 0
	if k.prompt { // something is being written still
		dropped++
	}
	k.mu.Unlock()
	for _, t := range left {
		if t.dropped() {
			dropped++
		}
	}
	return dropped
}
