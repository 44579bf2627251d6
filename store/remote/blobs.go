package remote

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"fmt"
	"sync"

	"github.com/kernstash/kernstash/key"
	"github.com/kernstash/kernstash/reason"
	"github.com/kernstash/kernstash/store"
)

// maxManifest bounds a manifest, as package disk does, and what is said of an application.
const maxManifest = 16 << 20

// GetBlob returns a manifest; see [store.Blobs]. Manifests name paths and decide which files are looked at, so they
// are signed as entries are. Contents of headers are not kept: they are a miss.
func (s *Store) GetBlob(ctx context.Context, kind store.Kind, name key.Digest) ([]byte, error) {
	content, _, err := s.FetchBlob(ctx, kind, name)
	return content, err
}

// FetchBlob is GetBlob for who keeps the manifest elsewhere: seal is the head of who signed it, nil where nobody did.
func (s *Store) FetchBlob(ctx context.Context, kind store.Kind, name key.Digest) (content, seal []byte, err error) {
	if kind != store.Manifests {
		return nil, nil, &store.MissError{Reason: reason.MissAbsent, Cause: cmp.Or(ctx.Err(), errKind(kind))}
	}
	b, err := s.readAtMost(ctx, s.ManifestName(name), min(s.opt.MaxSize, maxHead+maxManifest))
	return s.openManifest(b, name, err)
}

// openManifest makes a manifest of an object, with the head of who signed it. err is what getting it ended with.
func (s *Store) openManifest(b []byte, name key.Digest, err error) (content, seal []byte, _ error) {
	if err == nil {
		var o *object
		if o, content, err = s.unseal(b, kindManifest, name[:]); err == nil {
			if of := o.seal(b); of != nil {
				seal = bytes.Clone(of.Head)
			}
		}
	}
	if err != nil {
		return nil, nil, s.miss(err)
	}
	s.blobs.set(name, int64(len(content)))
	return content, seal, nil
}

// HasBlob reports whether this store has put or got a manifest of size bytes, as far as it
// remembers; see [store.Blobs]. It asks nobody, as it has no context that could end it.
func (s *Store) HasBlob(kind store.Kind, name key.Digest, size int64) bool {
	return kind == store.Manifests && s.blobs.has(name, size)
}

// PutBlob keeps a manifest; see [store.Blobs]. Contents of headers are refused with
// [store.ErrNotKept]: nobody needs them for a hit, and they are somebody's source.
func (s *Store) PutBlob(ctx context.Context, kind store.Kind, name key.Digest, content []byte) error {
	err := cmp.Or(s.err, ctx.Err(), errKind(kind))
	if err == nil && len(content) > maxManifest {
		err = fmt.Errorf("%d bytes: %w", len(content), store.ErrTooLarge)
	}
	var b []byte
	if err == nil {
		b, err = s.seal(kindManifest, name[:], content, sha256.Sum256(content))
	}
	if err == nil {
		err = s.write(ctx, s.ManifestName(name), b, true)
	}
	if err != nil {
		return fmt.Errorf("put %+q %s: %w", kind, name.Dir(), err)
	}
	s.blobs.set(name, int64(len(content)))
	return nil
}

func errKind(kind store.Kind) error {
	switch kind {
	case store.Manifests:
		return nil
	case store.Headers:
		return store.ErrNotKept
	}
	return store.ErrInvalid
}

// maxSizes bounds what is remembered of blobs: some 400 KB.
const maxSizes = 4096

// sizes remembers blobs that were seen. Its zero value is ready.
type sizes struct {
	mu sync.Mutex
	of map[key.Digest]int64
}

func (s *sizes) set(name key.Digest, size int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.of == nil || len(s.of) >= maxSizes {
		s.of = make(map[key.Digest]int64)
	}
	s.of[name] = size
}

func (s *sizes) has(name key.Digest, size int64) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	n, known := s.of[name]
	return known && n == size
}
