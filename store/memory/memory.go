// Package memory keeps artifacts in the memory of one process, up to a limit in
// bytes. It is for processes that have no directory, and for tests.
package memory

import (
	"cmp"
	"container/list"
	"context"
	"fmt"
	"iter"
	"sync"
	"time"

	"github.com/kernstash/kernstash/internal/format"
	"github.com/kernstash/kernstash/key"
	"github.com/kernstash/kernstash/reason"
	"github.com/kernstash/kernstash/stats"
	"github.com/kernstash/kernstash/store"
)

// Options are the settings of a Store. The zero value works.
type Options struct {
	// MaxSize is the limit in bytes of all that is kept, 0 is none. Over it, what
	// was used least recently goes.
	MaxSize int64

	Recorder stats.Recorder // takes the counts of puts, evictions and bytes; nil takes none
}

// Store is a store in memory. It is safe for concurrent use. Make it with [New].
type Store struct {
	o Options

	mu    sync.Mutex
	items map[key.Key]*list.Element // their values are *item
	used  list.List                 // the item that was used last is in front
	bytes int64
	locks map[key.Key]chan struct{} // closed when unlocked
}

var (
	_ store.Store  = (*Store)(nil)
	_ store.Locker = (*Store)(nil)
)

type item struct {
	key      key.Key
	size     int64
	accessed time.Time
	device   key.Device // of the recipe
	artifact *store.Artifact
}

// overhead is what an item takes besides its bytes, roughly.
const overhead = 512

// New returns an empty store.
func New(o Options) *Store {
	o.Recorder = cmp.Or[stats.Recorder](o.Recorder, stats.Noop{})
	return &Store{o: o, items: make(map[key.Key]*list.Element), locks: make(map[key.Key]chan struct{})}
}

// look returns an item that is used now; nil: there is none. It is called with s.mu held.
func (s *Store) look(k key.Key) *item {
	e := s.items[k]
	if e == nil {
		return nil
	}
	s.used.MoveToFront(e)
	i := e.Value.(*item)
	i.accessed = time.Now()
	return i
}

// Clear removes all.
func (s *Store) Clear() {
	s.mu.Lock()
	defer s.mu.Unlock()
	clear(s.items)
	s.used.Init()
	s.bytes = 0
}

func (s *Store) remove(k key.Key) {
	if e := s.items[k]; e != nil {
		s.bytes -= e.Value.(*item).size
		s.used.Remove(e)
		delete(s.items, k)
	}
}

// Get returns the entry of k; see [store.Store].
func (s *Store) Get(ctx context.Context, k key.Key) (*store.Entry, error) {
	var i *item
	err := ctx.Err()
	if err == nil {
		s.mu.Lock()
		i = s.look(k)
		s.mu.Unlock()
	}
	if i == nil {
		return nil, &store.MissError{Reason: reason.MissAbsent, Cause: err}
	}
	s.o.Recorder.Add(stats.DiskBytesRead, i.size)
	return &store.Entry{Key: k, Artifact: i.artifact.Clone()}, nil
}

// Put stores an entry; see [store.Store].
func (s *Store) Put(ctx context.Context, e *store.Entry) (store.PutResult, error) {
	res, size, evicted, err := s.put(ctx, e)
	store.CountPut(s.o.Recorder, res, size, err) // without s.mu: the Recorder is the application's
	for _, old := range evicted {
		s.o.Recorder.Add(stats.DiskEvictions, 1)
		s.o.Recorder.Add(stats.DiskBytesEvicted, old.size)
	}
	return res, err
}

func (s *Store) put(ctx context.Context, e *store.Entry) (res store.PutResult, size int64, evicted []*item, err error) {
	if err := ctx.Err(); err != nil {
		return store.Failed, 0, nil, err
	}
	if err := format.CheckEntry(e); err != nil {
		return store.Failed, 0, nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	res = store.Stored
	if old := s.look(e.Key); old != nil {
		if !e.Artifact.Better(old.artifact) {
			return store.Existing, 0, nil, nil
		}
		res = store.Bettered
	}
	size = sizeOf(e.Artifact) + overhead
	if s.o.MaxSize > 0 && size > s.o.MaxSize {
		err := fmt.Errorf("put %s: %d bytes, the limit is %d: %w", e.Key.Short(), size, s.o.MaxSize, store.ErrTooLarge)
		return store.Failed, 0, nil, err
	}
	i := &item{key: e.Key, size: size, accessed: time.Now(), device: e.Recipe.Device, artifact: e.Artifact.Clone()}
	if i.artifact.Created.IsZero() {
		i.artifact.Created = i.accessed
	}
	s.remove(i.key)
	s.items[i.key] = s.used.PushFront(i)
	s.bytes += i.size
	for s.o.MaxSize > 0 && s.bytes > s.o.MaxSize {
		old := s.used.Back().Value.(*item)
		s.remove(old.key)
		evicted = append(evicted, old)
	}
	return res, size, evicted, nil
}

// sizeOf returns the bytes that an artifact takes, roughly.
func sizeOf(a *store.Artifact) int64 {
	n := a.Size() + int64(len(a.Log))
	for _, k := range a.Kernels {
		n += int64(len(k.Name) + len(k.Attributes) + 128*len(k.Args))
	}
	return n
}

// Delete removes the entry of k; see [store.Store].
func (s *Store) Delete(ctx context.Context, k key.Key) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.remove(k)
	return nil
}

// List yields the entries that are there when it begins; see [store.Store].
func (s *Store) List(ctx context.Context) iter.Seq2[store.Info, error] {
	return func(yield func(store.Info, error) bool) {
		for _, info := range s.infos() {
			if err := ctx.Err(); err != nil {
				yield(store.Info{}, err)
				return
			}
			if !yield(info, nil) {
				return
			}
		}
	}
}

func (s *Store) infos() (all []store.Info) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for e := s.used.Front(); e != nil; e = e.Next() {
		i := e.Value.(*item)
		info := store.Info{
			Key: i.key, Device: i.device, Size: i.size, Created: i.artifact.Created, Accessed: i.accessed,
			Cost: i.artifact.Cost, Location: i.key.Sum.String(),
		}
		for _, kernel := range i.artifact.Kernels {
			info.Kernels = append(info.Kernels, kernel.Name)
		}
		all = append(all, info)
	}
	return all
}

// Lock takes the build lock of k among the goroutines of the process; see [store.Locker].
func (s *Store) Lock(ctx context.Context, k key.Key, wait time.Duration) (unlock func(), err error) {
	var end <-chan time.Time
	for {
		s.mu.Lock()
		held := s.locks[k]
		if held == nil {
			mine := make(chan struct{})
			s.locks[k] = mine
			s.mu.Unlock()
			return sync.OnceFunc(func() {
				s.mu.Lock()
				defer s.mu.Unlock()
				delete(s.locks, k)
				close(mine)
			}), nil
		}
		s.mu.Unlock()
		if wait <= 0 {
			return nil, store.ErrLocked
		}
		if end == nil {
			end = time.After(wait)
		}
		select {
		case <-held:
		case <-end:
			return nil, store.ErrLocked
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}
