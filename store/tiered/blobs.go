package tiered

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"

	"github.com/kernstash/kernstash/deps/manifest"
	"github.com/kernstash/kernstash/key"
	"github.com/kernstash/kernstash/reason"
	"github.com/kernstash/kernstash/stats"
	"github.com/kernstash/kernstash/store"
)

// GetBlob returns a blob; see [store.Blobs]. A manifest that is not near may come from a far store;
// header files never do. Who checks such a manifest reads every file that it names: its stamps are
// those of another machine, and are not handed out.
func (s *Store) GetBlob(ctx context.Context, kind store.Kind, name key.Digest) ([]byte, error) {
	b, near := s.Near.GetBlob(ctx, kind, name)
	if near == nil || kind != store.Manifests || ctx.Err() != nil || s.base.Err() != nil {
		return b, near
	}
	for _, t := range s.present() {
		if t.blobs == nil || s.absent.has(question{t.index, kind, name}) {
			continue
		}
		b, seal, err := s.manifestFrom(ctx, t, name)
		if err != nil {
			continue
		}
		s.sameAsKept(name, b)
		if !s.o.ReadOnly && !t.NoBackfill {
			s.backfills.add(&task{size: int64(len(b)), do: func() {
				_ = s.putNear(s.base, name, b, seal)
			}, drop: func() {}})
		}
		return append([]byte(nil), b...), nil
	}
	return nil, near
}

// sealedBlobs is what a far store is whose manifests are signed.
type sealedBlobs interface {
	FetchBlob(ctx context.Context, kind store.Kind, name key.Digest) (content, seal []byte, err error)
}

// sealKeeper is what a near store is that keeps what says so.
type sealKeeper interface {
	PutSealedBlob(ctx context.Context, kind store.Kind, name key.Digest, content, seal []byte) error
}

// putNear keeps a manifest near, with its seal if there is one.
func (s *Store) putNear(ctx context.Context, name key.Digest, b, seal []byte) error {
	if keeps, ok := s.Near.(sealKeeper); ok && seal != nil {
		return keeps.PutSealedBlob(ctx, store.Manifests, name, b, seal)
	}
	return s.Near.PutBlob(ctx, store.Manifests, name, b)
}

// manifestFrom asks one far store for a manifest, and for its seal; nil: it has none.
func (s *Store) manifestFrom(ctx context.Context, t *tier, name key.Digest) (b, seal []byte, err error) {
	type answer struct{ b, seal []byte }
	fetch := func(ctx context.Context) (a answer, err error) {
		if sealed, ok := t.blobs.(sealedBlobs); ok {
			a.b, a.seal, err = sealed.FetchBlob(ctx, store.Manifests, name)
		} else {
			a.b, err = t.blobs.GetBlob(ctx, store.Manifests, name)
		}
		return a, err
	}
	get := func(ctx context.Context) (_, _ []byte, err error) {
		bound := t.bound(ctx)
		a, err := call(s, ctx, bound, fetch, nil)
		s.settle(ctx, t, &t.reads, err, bound.limit)
		if miss, ok := errors.AsType[*store.MissError](err); ok && miss.Reason == reason.MissAbsent && answered(err) {
			s.absent.add(question{t.index, store.Manifests, name})
		}
		if err != nil {
			return nil, nil, err
		}
		b, err := manifest.Portable(a.b, name)
		if !bytes.Equal(b, a.b) { // which nobody has signed
			a.seal = nil
		}
		return b, a.seal, err
	}
	switch t.reads.ask() {
	case closed:
		return get(ctx)
	case probe:
		go func() { _, _, _ = get(s.base) }()
	}
	s.count(stats.RemoteSkipped)
	return nil, nil, errBroken
}

// PutBlob keeps a blob near, and has a manifest uploaded in the background; see [store.Blobs].
func (s *Store) PutBlob(ctx context.Context, kind store.Kind, name key.Digest, content []byte) error {
	err := s.Near.PutBlob(ctx, kind, name, content)
	if kind != store.Manifests || len(s.present()) == 0 || s.o.ReadOnly || ctx.Err() != nil {
		return err
	}
	b, invalid := manifest.Portable(content, name)
	if invalid != nil || s.sameAsKept(name, b) {
		return err
	}
	for _, t := range s.present() {
		if t.blobs == nil || !t.takes(int64(len(b))) {
			continue
		}
		size := int64(len(b))
		drop := func() {
			s.count(stats.RemotePutsDropped)
			s.notKept(name)
		}
		if !t.uploads.add(&task{size: size, do: func() {
			err := s.write(t, size, func(ctx context.Context) error { return t.blobs.PutBlob(ctx, store.Manifests, name, b) })
			if err != nil {
				s.notKept(name)
				return
			}
			s.absent.forget(question{t.index, store.Manifests, name})
		}, drop: drop}) {
			drop()
		}
	}
	return err
}

// maxKept bounds how many manifests are remembered.
const maxKept = 4096

// sameAsKept reports whether the far stores have a manifest as it is, as far as one remembers, and
// remembers that they have.
func (s *Store) sameAsKept(name key.Digest, b []byte) bool {
	sum := key.Digest(sha256.Sum256(b))
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.kept[name] == sum {
		return true
	}
	if len(s.kept) >= maxKept {
		clear(s.kept)
	}
	s.kept[name] = sum
	return false
}

// notKept says that a far store lacks a manifest: it is uploaded when it is put again.
func (s *Store) notKept(name key.Digest) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.kept, name)
}
