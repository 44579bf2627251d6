package tiered

import (
	"bytes"
	"context"
	"errors"
	"sync"

	"github.com/kernstash/kernstash/deps/manifest"
	"github.com/kernstash/kernstash/key"
	"github.com/kernstash/kernstash/reason"
	"github.com/kernstash/kernstash/stats"
	"github.com/kernstash/kernstash/store"
)

// Applications is what the Store of a Far offers that knows what applications use.
type Applications interface {
	// App returns what an application is known to use. Whatever prevents this is a *store.MissError.
	App(ctx context.Context, app string) (*store.App, error)

	// GetApp gets what is wanted of that in few round trips. It calls got for each key with what Fetch
	// would return, and manifest for each name with what FetchBlob would, the content and its seal, one call at a time. most says
	// that most of what the application uses is wanted.
	GetApp(
		ctx context.Context, app string, wanted *store.App, most bool,
		got func(key.Key, *store.Entry, error), manifest func(name key.Digest, content, seal []byte, err error),
	)
}

// prefetchTimeouts is how many times as long as a call the prefetch of a store may take.
const prefetchTimeouts = 20

var _ store.Prefetcher = (*Store)(nil)

// Prefetch keeps near what an application is known to use; see [store.Prefetcher]. The first far store
// that knows the application says what that is, and what it does not have the next ones are asked for. Its
// place is in the background, when a program starts.
func (s *Store) Prefetch(ctx context.Context, app string) store.Prefetched {
	p := prefetch{s: s, ctx: ctx}
	if s.o.ReadOnly || !p.know(app) {
		return p.Prefetched
	}
	for _, t := range s.present() {
		if apps, ok := t.Store.(Applications); ok && p.left() && p.may(t) {
			p.from(t, apps, app)
		}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.Prefetched
}

// prefetch is one. A call that ended at its deadline may still go on.
type prefetch struct {
	s    *Store
	ctx  context.Context
	list *store.App

	mu        sync.Mutex
	keys      map[key.Key]bool // that are not near yet
	manifests map[key.Digest]bool
	store.Prefetched
}

// may reports whether a far store is one to fetch from.
func (p *prefetch) may(t *tier) bool { return !t.NoBackfill && p.ctx.Err() == nil && t.reads.closed() }

// know finds out what the application uses, and what of it is not near.
func (p *prefetch) know(app string) bool {
	for _, t := range p.s.present() {
		apps, ok := t.Store.(Applications)
		if !ok || !p.may(t) {
			continue
		}
		list, err := call(p.s, p.ctx, within(t.Timeout), func(ctx context.Context) (*store.App, error) { return apps.App(ctx, app) }, nil)
		p.s.settle(p.ctx, t, &t.reads, err, t.Timeout)
		if err == nil && list != nil {
			p.list, p.From = list, t.Name
			break
		}
		p.s.distrusted(err)
	}
	if p.list == nil {
		return false
	}
	p.list = &store.App{Keys: once(p.list.Keys), Manifests: once(p.list.Manifests)}
	p.Listed = len(p.list.Keys)
	p.keys, p.manifests = make(map[key.Key]bool), make(map[key.Digest]bool)
	for _, k := range p.list.Keys {
		if _, err := p.s.Near.GetFirst(p.ctx, k, new(store.Buffer)); err == nil {
			p.Near++
		} else {
			p.keys[k] = true
		}
	}
	for _, name := range p.list.Manifests {
		if _, err := p.s.Near.GetBlob(p.ctx, store.Manifests, name); err != nil {
			p.manifests[name] = true
		}
	}
	return true
}

// once returns all, each once.
func once[T comparable](all []T) (unique []T) {
	seen := make(map[T]bool, len(all))
	for _, v := range all {
		if !seen[v] {
			seen[v] = true
			unique = append(unique, v)
		}
	}
	return unique
}

// left reports whether something is not near yet.
func (p *prefetch) left() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.keys)+len(p.manifests) > 0
}

// wanted returns what is not near yet, in the order of the list.
func (p *prefetch) wanted() (wanted *store.App, most bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	wanted = new(store.App)
	for _, k := range p.list.Keys {
		if p.keys[k] {
			wanted.Keys = append(wanted.Keys, k)
		}
	}
	for _, name := range p.list.Manifests {
		if p.manifests[name] {
			wanted.Manifests = append(wanted.Manifests, name)
		}
	}
	return wanted, 2*len(wanted.Keys) > p.Listed
}

// from asks one far store for what is not near yet.
func (p *prefetch) from(t *tier, apps Applications, app string) {
	var mu sync.Mutex
	var some bool
	var last error // of those that were not answered
	tell := func(err error) (got bool) {
		mu.Lock()
		defer mu.Unlock()
		if answered(err) {
			some = true
		} else {
			last = err
		}
		p.s.distrusted(err)
		return err == nil
	}
	got := func(k key.Key, e *store.Entry, err error) {
		if miss, ok := errors.AsType[*store.MissError](err); ok && miss.Reason == reason.MissAbsent && answered(err) {
			p.s.absent.add(question{tier: t.index, sum: k.Sum})
		}
		if !tell(err) || e == nil || e.Key != k || e.Recipe == nil || e.Artifact == nil || !p.take(k) {
			return
		}
		p.s.count(stats.RemoteHits)
		if _, err := p.s.Near.Put(p.ctx, e); err == nil {
			p.add(&p.Came)
		}
	}
	gotManifest := func(name key.Digest, signed, seal []byte, err error) {
		if !tell(err) {
			return
		}
		b, err := manifest.Portable(signed, name)
		if err != nil || !p.takeManifest(name) {
			return
		}
		if !bytes.Equal(b, signed) { // which nobody has signed
			seal = nil
		}
		p.s.sameAsKept(name, b)
		if p.s.putNear(p.ctx, name, b, seal) == nil {
			p.add(&p.Manifests)
		}
	}
	wanted, most := p.wanted()
	limit := prefetchTimeouts * t.Timeout
	_, err := call(p.s, p.ctx, within(limit), func(ctx context.Context) (struct{}, error) {
		apps.GetApp(ctx, app, wanted, most, got, gotManifest)
		return struct{}{}, nil
	}, nil)
	mu.Lock()
	defer mu.Unlock()
	if err == nil && last != nil && !some {
		err = last
	}
	p.s.settle(p.ctx, t, &t.reads, err, limit)
}

// take reports whether an entry that came was wanted, once.
func (p *prefetch) take(k key.Key) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	was := p.keys[k]
	delete(p.keys, k)
	return was
}

func (p *prefetch) takeManifest(name key.Digest) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	was := p.manifests[name]
	delete(p.manifests, name)
	return was
}

func (p *prefetch) add(n *int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	*n++
}

// distrusted counts what nobody asked for that is not signed as it should be.
func (s *Store) distrusted(err error) {
	if miss, ok := errors.AsType[*store.MissError](err); ok && miss.Reason == reason.MissUntrusted {
		s.count(stats.Of(reason.MissUntrusted))
	}
}
