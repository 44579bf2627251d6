package tiered

import (
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
		b, err := s.manifestFrom(ctx, t, name)
		if err != nil {
			continue
		}
		s.sameAsKept(name, b)
		if !s.o.ReadOnly && !t.NoBackfill {
			s.backfills.add(&task{size: int64(len(b)), do: func() {
				_ = s.Near.PutBlob(s.base, kind, name, b)
			}, drop: func() {}})
		}
		return append([]byte(nil), b...), nil
	}
	return nil, near
}

// manifestFrom asks one far store for a manifest.
func (s *Store) manifestFrom(ctx context.Context, t *tier, name key.Digest) ([]byte, error) {
	get := func(ctx context.Context) ([]byte, error) {
		limit := t.limit(ctx)
		b, err := call(s, ctx, limit, func(ctx context.Context) ([]byte, error) {
			return t.blobs.GetBlob(ctx, store.Manifests, name)
		}, nil)
		s.settle(ctx, t, &t.reads, err, limit)
		if miss, ok := errors.AsType[*store.MissError](err); ok && miss.Reason == reason.MissAbsent && answered(err) {
			s.absent.add(question{t.index, store.Manifests, name})
		}
		if err == nil {
			b, err = manifest.Portable(b, name)
		}
		return b, err
	}
	switch t.reads.ask() {
	case closed:
		return get(ctx)
	case probe:
		go func() { _, _ = get(s.base) }()
	}
	s.count(stats.RemoteSkipped)
	return nil, errBroken
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
		t.uploads.add(&task{size: size, do: func() {
			err := s.write(t, size, func(ctx context.Context) error { return t.blobs.PutBlob(ctx, store.Manifests, name, b) })
			if err == nil {
				s.absent.forget(question{t.index, store.Manifests, name})
			}
		}, drop: func() { s.count(stats.RemotePutsDropped) }})
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
