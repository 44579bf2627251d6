package remote

import (
	"cmp"
	"context"
	"errors"
	"iter"
	"strings"
	"sync"

	"github.com/kernstash/kernstash/key"
	"github.com/kernstash/kernstash/stats"
	"github.com/kernstash/kernstash/store"
)

// inFlight is how many objects are got at one time from an engine that gets them one by one: from S3 at
// 10 ms from there 200 of 50 KB take 0.15 s, 16 at a time 0.2 s, one by one 2.5 s.
const inFlight = 32

// GetMany gets entries in as few round trips as the engine can, and calls got for each key with what
// [Store.Fetch] would return: one call at a time, in no particular order, each key as often as it is
// asked for. It returns when it has called got for all.
func (s *Store) GetMany(ctx context.Context, keys []key.Key, got func(key.Key, *store.Entry, error)) {
	names, of := make([]string, len(keys)), make(map[string][]key.Key, len(keys))
	for i, k := range keys {
		names[i] = s.Name(k)
		of[names[i]] = append(of[names[i]], k)
	}
	s.readMany(ctx, names, func(name string, b []byte, err error) {
		k := of[name][0]
		of[name] = of[name][1:]
		var e *store.Entry
		if err == nil {
			e, _, err = s.open(b, k, true)
		}
		if err != nil {
			got(k, nil, s.miss(err))
			return
		}
		got(k, e, nil)
	})
}

// readMany gets objects, and calls got for each name, one call at a time.
func (s *Store) readMany(ctx context.Context, names []string, got func(name string, b []byte, err error)) {
	if m, ok := s.o.(ManyGetter); ok && cmp.Or(s.err, ctx.Err()) == nil {
		s.pipeline(ctx, m, names, got)
		return
	}
	var mu sync.Mutex
	var wg sync.WaitGroup
	turns := make(chan struct{}, inFlight)
	for _, name := range names {
		turns <- struct{}{}
		wg.Go(func() {
			b, done, err := s.hold(ctx, name, true)
			defer done()
			mu.Lock()
			defer mu.Unlock()
			got(name, b, err)
			<-turns
		})
	}
	wg.Wait()
}

// pipeline gets objects by the engine's own means. What it does not answer for failed as it says, and
// what it says twice, or was not asked, does not count.
func (s *Store) pipeline(ctx context.Context, m ManyGetter, names []string, got func(name string, b []byte, err error)) {
	left := make(map[string]int, len(names))
	for _, name := range names {
		left[name]++
	}
	unique := make([]string, 0, len(left))
	for name := range left {
		unique = append(unique, name)
	}
	answer := func(name string, b []byte, err error) {
		for range left[name] {
			got(name, b, err)
		}
		delete(left, name)
	}
	err := m.GetMany(ctx, unique, s.opt.MaxSize, func(name string, b []byte, err error) {
		s.opt.Recorder.Add(stats.RemoteBytesRead, int64(len(b)))
		answer(name, b, err)
	})
	for name := range left {
		answer(name, nil, cmp.Or(err, ctx.Err(), errNoAnswer))
	}
}

var errNoAnswer = errors.New("the engine did not answer for it")

// List yields the entries; see [store.Store]. It gets every object, some at a time, as only they say
// what is in them.
func (s *Store) List(ctx context.Context) iter.Seq2[store.Info, error] {
	return func(yield func(store.Info, error) bool) {
		if err := cmp.Or(s.err, ctx.Err()); err != nil {
			yield(store.Info{}, err)
			return
		}
		b := batch{s: s, yield: yield}
		for o, err := range s.o.List(ctx, s.prefix()) {
			if err != nil {
				yield(store.Info{}, err)
				return
			}
			if !b.add(ctx, o) {
				return
			}
		}
		if b.flush(ctx) && ctx.Err() != nil {
			yield(store.Info{}, ctx.Err())
		}
	}
}

// batch is a part of a list.
type batch struct {
	s       *Store
	yield   func(store.Info, error) bool
	objects []Object
	bytes   int64
}

// What a batch takes.
const (
	batchObjects = 64
	batchBytes   = 16 << 20
)

// add reports whether more is wanted, as flush does.
func (b *batch) add(ctx context.Context, o Object) bool {
	if _, ok := b.s.sumOf(o.Name); !ok {
		return true // a manifest, or somebody else's
	}
	if len(b.objects) == batchObjects || len(b.objects) > 0 && b.bytes+o.Size > batchBytes {
		if !b.flush(ctx) {
			return false
		}
	}
	b.objects, b.bytes = append(b.objects, o), b.bytes+o.Size
	return true
}

// sumOf returns the sum of the key that the name of an entry's object has.
func (s *Store) sumOf(name string) (sum key.Digest, ok bool) {
	rest, ok := strings.CutPrefix(name, s.prefix())
	two, digits, cut := strings.Cut(rest, "/")
	sum, err := key.ParseDigest(digits)
	return sum, ok && cut && err == nil && len(two) == 2 && strings.HasPrefix(digits, two)
}

// flush gets the objects of the batch and yields them.
func (b *batch) flush(ctx context.Context) bool {
	names, of := make([]string, len(b.objects)), make(map[string]Object, len(b.objects))
	for i, o := range b.objects {
		names[i], of[o.Name] = o.Name, o
	}
	b.objects, b.bytes = b.objects[:0], 0
	var infos []store.Info
	b.s.readMany(ctx, names, func(name string, content []byte, err error) {
		if !errors.Is(err, ErrNotFound) { // else it went meanwhile
			infos = append(infos, b.s.info(of[name], content, err))
		}
	})
	if ctx.Err() != nil {
		b.yield(store.Info{}, ctx.Err())
		return false
	}
	for _, i := range infos {
		if !b.yield(i, nil) {
			return false
		}
	}
	return true
}

// info describes an object. err is what getting it ended with.
func (s *Store) info(at Object, b []byte, err error) store.Info {
	sum, _ := s.sumOf(at.Name)
	i := store.Info{Key: key.Key{Sum: sum}, Size: at.Size, Accessed: at.Modified, Location: at.Name}
	var o *object
	if err == nil {
		o, err = parse(b)
	}
	var e *store.Entry
	if err == nil {
		i.Size = int64(len(b))
		if k := o.key(); o.kind == kindEntry && k.Sum == sum {
			i.Key = k
		}
		if i.Accessed.IsZero() {
			i.Accessed = o.createdAt()
		}
		e, _, err = s.open(b, i.Key, true)
	}
	if err != nil {
		i.Bad = s.miss(err)
		return i
	}
	i.Device, i.Created, i.Cost = e.Recipe.Device, e.Artifact.Created, e.Artifact.Cost
	for _, k := range e.Artifact.Kernels {
		i.Kernels = append(i.Kernels, k.Name)
	}
	return i
}
