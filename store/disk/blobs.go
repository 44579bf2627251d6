package disk

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"time"

	"github.com/kernstash/kernstash/internal/format"
	"github.com/kernstash/kernstash/internal/safefs"
	"github.com/kernstash/kernstash/key"
	"github.com/kernstash/kernstash/stats"
	"github.com/kernstash/kernstash/store"
	"github.com/kernstash/kernstash/store/disk/internal/rootdir"
	"github.com/kernstash/kernstash/store/disk/internal/shared"
)

// GetBlob returns a blob; see [store.Blobs].
func (s *Store) GetBlob(ctx context.Context, kind store.Kind, name key.Digest) ([]byte, error) {
	if err := ctx.Err(); err != nil {
		return nil, rootdir.Miss(err)
	}
	r, err := s.at.Acquire(false)
	if err != nil {
		return nil, rootdir.Miss(err)
	}
	defer r.Release()
	f, info, err := shared.OpenBlob(s.at, r, kind, name)
	if errors.Is(err, fs.ErrNotExist) {
		s.at.DropIfGone(r)
	}
	var b []byte
	if err == nil {
		defer f.Close()
		b, err = s.readBlob(f, info, kind, name)
	}
	if err != nil {
		return nil, rootdir.Miss(rootdir.WrapPath(shared.BlobPath(kind, name), err))
	}
	return b, nil
}

// manifestUsedEvery is how often the use of a manifest is recorded, in its
// modification time: GC goes by days.
const manifestUsedEvery = 12 * time.Hour

func (s *Store) readBlob(f safefs.File, info safefs.Info, kind store.Kind, name key.Digest) ([]byte, error) {
	if kind == store.Headers {
		if err := shared.CheckContent(f, info.Size, name); err != nil {
			s.count(stats.Corrupt, 1)
			return nil, err
		}
	}
	b := make([]byte, info.Size)
	if err := rootdir.ReadFull(f, b); err != nil {
		return nil, err
	}
	if kind == store.Headers && sha256.Sum256(b) != name {
		return nil, format.ErrDigest // it changes while we look
	}
	// Nothing of a manifest was checked, so one with other names may be anything.
	if now := s.at.NowNanos(); kind == store.Manifests && !s.o.ReadOnly && info.Links == 1 && now-info.Mtime > int64(manifestUsedEvery) {
		_ = f.SetMtime(now)
	}
	return b, nil
}

// HasBlob reports whether there is a blob; see [store.Blobs].
func (s *Store) HasBlob(kind store.Kind, name key.Digest, size int64) bool {
	r, err := s.at.Acquire(false)
	if err != nil {
		return false
	}
	defer r.Release()
	f, info, err := shared.OpenBlob(s.at, r, kind, name)
	if err != nil {
		return false
	}
	f.Close()
	return info.Size == size
}

// PutBlob keeps a blob; see [store.Blobs].
func (s *Store) PutBlob(ctx context.Context, kind store.Kind, name key.Digest, content []byte) error {
	err := s.at.WithMeta(ctx, func(r *rootdir.Root, m *rootdir.Meta) error { return s.putBlob(r, m, kind, name, content) })
	if err != nil {
		return fmt.Errorf("put %s: %w", shared.BlobPath(kind, name), err)
	}
	return nil
}

func (s *Store) putBlob(r *rootdir.Root, m *rootdir.Meta, kind store.Kind, name key.Digest, content []byte) error {
	switch most, known := shared.MaxBlob[kind]; {
	case !known, kind == store.Headers && sha256.Sum256(content) != name:
		return store.ErrInvalid
	case int64(len(content)) > most:
		return fmt.Errorf("%d bytes: %w", len(content), store.ErrTooLarge)
	case kind == store.Manifests:
		return shared.WriteBlob(s.at, m, kind, name, true, content)
	}
	f, info, err := shared.OpenBlob(s.at, r, kind, name)
	if err == nil {
		defer f.Close()
		if info.Size == int64(len(content)) {
			// One that no recipe used may be about to be collected.
			if now := s.at.NowNanos(); info.Links == 1 && now-info.Mtime > int64(orphanAge)/2 {
				return f.SetMtime(now)
			}
			return nil
		}
	}
	replace := err == nil || rootdir.Damaged(err) || errors.Is(err, store.ErrTooLarge)
	return shared.WriteBlob(s.at, m, kind, name, replace, content)
}

// putHeaders keeps the contents that an entry brings, each once. An entry is
// good without them, so trouble with them is told and ends there; except where
// .meta itself is gone, which the put notices by it.
func (s *Store) putHeaders(r *rootdir.Root, m *rootdir.Meta, e *store.Entry) error {
	for d, content := range e.Headers {
		err := s.putBlob(r, m, store.Headers, d, content)
		if err != nil && r.MetaGone() {
			return err
		}
		if err != nil {
			s.o.Trace.Warn("header not kept", "digest", d.Dir(), "reason", err)
		}
	}
	return nil
}
