package disk

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"time"

	"github.com/kernstash/kernstash/internal/format"
	"github.com/kernstash/kernstash/internal/safefs"
	"github.com/kernstash/kernstash/key"
	"github.com/kernstash/kernstash/stats"
	"github.com/kernstash/kernstash/store"
	"github.com/kernstash/kernstash/store/disk/internal/rootdir"
	"github.com/kernstash/kernstash/store/disk/internal/shared"
)

// maxBlob bounds the bytes of a blob of each kind. A header that is larger is in the
// key all the same, but cannot be built again.
var maxBlob = map[store.Kind]int64{store.Headers: 64 << 20, store.Manifests: 16 << 20}

// manifestUsedEvery is how often the use of a manifest is recorded, in its
// modification time: GC goes by days.
const manifestUsedEvery = 12 * time.Hour

// GetBlob returns a blob; see [store.Blobs].
func (s *Store) GetBlob(ctx context.Context, kind store.Kind, name key.Digest) (b []byte, err error) {
	path := shared.Blob(kind, name).Path()
	err = s.at.Look(ctx, func(r *rootdir.Root) error {
		var info safefs.Info
		if kind == store.Manifests {
			b, info, err = s.manifest(r, path, name)
		} else {
			b, info, err = s.at.ReadFile(r.Dir, path, maxBlob[kind], nil)
		}
		switch {
		case err != nil:
			return rootdir.WrapPath(path, err)
		case kind == store.Headers && sha256.Sum256(b) != name:
			return rootdir.WrapPath(path, format.ErrDigest)
		case kind == store.Manifests && !s.o.ReadOnly:
			s.touch(r, path, info, manifestUsedEvery)
		}
		return nil
	})
	if err != nil {
		if kind == store.Headers && isCorrupt(err) {
			s.count(stats.Corrupt, 1)
		}
		return nil, rootdir.Miss(err)
	}
	return b, nil
}

// Blobs yields the names of the blobs of a kind, in no particular order. An error ends the sequence.
func (s *Store) Blobs(ctx context.Context, kind store.Kind) iter.Seq2[key.Digest, error] {
	return func(yield func(key.Digest, error) bool) {
		err := s.at.Look(ctx, func(r *rootdir.Root) error {
			return shared.Each(r, kind, false, func(_ safefs.Dir, f shared.File, _ safefs.Info) error {
				if name, err := f.Digest(); err == nil && !yield(name, nil) {
					return errStop
				}
				return ctx.Err()
			})
		})
		if err = rootdir.IgnoreGone(err); err != nil && !errors.Is(err, errStop) {
			yield(key.Digest{}, fmt.Errorf("list %s: %w", kind, err))
		}
	}
}

// touch records the use of a file, unless that was done a short time ago. One with other
// names may be anything.
func (s *Store) touch(r *rootdir.Root, path string, info safefs.Info, every time.Duration) {
	now := s.at.NowNanos()
	if info.Links != 1 || now-info.Mtime <= int64(every) {
		return
	}
	if f, _, err := s.at.OpenBin(r.Dir, path); err == nil {
		_ = f.SetMtime(now)
		f.Close()
	}
}

// HasBlob reports whether there is a blob; see [store.Blobs].
func (s *Store) HasBlob(kind store.Kind, name key.Digest, size int64) bool {
	err := s.at.Look(context.Background(), func(r *rootdir.Root) error {
		info, err := s.look(r, shared.Blob(kind, name))
		if err == nil && info.Size != size {
			err = fs.ErrInvalid
		}
		return err
	})
	return err == nil
}

// look says what a file is, if it can be believed.
func (s *Store) look(r *rootdir.Root, file shared.File) (safefs.Info, error) {
	f, info, err := s.at.OpenBin(r.Dir, file.Path())
	if err == nil {
		f.Close()
	}
	return info, err
}

// PutBlob keeps a blob; see [store.Blobs].
func (s *Store) PutBlob(ctx context.Context, kind store.Kind, name key.Digest, content []byte) error {
	return s.putSealed(ctx, kind, name, content, nil)
}

func (s *Store) putSealed(ctx context.Context, kind store.Kind, name key.Digest, content, seal []byte) error {
	err := s.at.Write(ctx, func(r *rootdir.Root, m *rootdir.Meta) error { return s.putBlob(r, m, kind, name, content, seal) })
	if err != nil {
		return fmt.Errorf("put %s: %w", shared.Blob(kind, name).Path(), err)
	}
	return nil
}

func (s *Store) putBlob(r *rootdir.Root, m *rootdir.Meta, kind store.Kind, name key.Digest, content, seal []byte) error {
	file := shared.Blob(kind, name)
	switch limit, known := maxBlob[kind]; {
	case !known, kind == store.Headers && sha256.Sum256(content) != name:
		return store.ErrInvalid
	case int64(len(content)) > limit:
		return fmt.Errorf("%d bytes: %w", len(content), store.ErrTooLarge)
	case kind == store.Manifests:
		b, err := s.sealedManifest(r, file.Path(), name, content, seal)
		if b == nil || err != nil {
			return err
		}
		return file.Write(s.at, m, true, b)
	}
	info, err := s.look(r, file)
	if err == nil && info.Size == int64(len(content)) {
		// One that no recipe used may be about to be collected.
		s.touch(r, file.Path(), info, orphanAge/2)
		return nil
	}
	replace := err == nil || rootdir.Damaged(err)
	if err = file.Write(s.at, m, replace, content); !replace && errors.Is(err, fs.ErrExist) {
		return nil
	}
	return err
}

// putHeaders keeps the contents that an entry brings, each once. An entry is
// good without them, so trouble with them is told and ends there; except where
// a directory went meanwhile: then the put begins anew.
func (s *Store) putHeaders(r *rootdir.Root, m *rootdir.Meta, e *store.Entry) error {
	for d, content := range e.Headers {
		err := s.putBlob(r, m, store.Headers, d, content, nil)
		if errors.Is(err, fs.ErrNotExist) {
			return err
		}
		if err != nil {
			s.o.Trace.Warn("header not kept", "digest", d.Dir(), "reason", err)
		}
	}
	return nil
}
