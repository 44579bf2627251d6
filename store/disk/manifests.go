package disk

import (
	"context"
	"fmt"
	"io/fs"
	"time"

	"github.com/kernstash/kernstash/internal/beneath"
	"github.com/kernstash/kernstash/key"
	"github.com/kernstash/kernstash/store"
)

// maxManifest is the largest manifest that is kept and read.
const maxManifest = 16 << 20

// Manifest returns what PutManifest kept under a name. Nothing of it was
// checked: it has digests of its own. Whatever prevents this is a
// *store.MissError.
func (s *Store) Manifest(ctx context.Context, name key.Digest) (b []byte, err error) {
	err = s.onShelf(ctx, manifestShelf, name, maxManifest, func(f beneath.File, info beneath.Info) error {
		b = make([]byte, info.Size)
		if err := readFull(f, b); err != nil {
			return err
		}
		// Nothing of it was checked, so one with other names may be anything.
		if now := s.nowNanos(); !s.o.ReadOnly && info.Links == 1 && now-info.Mtime > int64(manifestUsedEvery) {
			_ = f.SetMtime(now)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return b, nil
}

// manifestUsedEvery is how often the use of a manifest is recorded, in its
// modification time: GC goes by days.
const manifestUsedEvery = 12 * time.Hour

// PutManifest keeps b under a name, in the place of whatever has it. Readers
// see the old bytes or the new ones.
func (s *Store) PutManifest(ctx context.Context, name key.Digest, b []byte) error {
	switch {
	case s.o.ReadOnly:
		return fmt.Errorf("put manifest: %s is a read-only layer: %w", s.o.Dir, fs.ErrPermission)
	case len(b) > maxManifest:
		return fmt.Errorf("put manifest: %d bytes: %w", len(b), store.ErrTooLarge)
	}
	for try := 0; ; try++ {
		if err := ctx.Err(); err != nil {
			return fmt.Errorf("put manifest: %w", err)
		}
		r, err := s.acquire(true)
		if err != nil {
			return fmt.Errorf("put manifest: %w", err)
		}
		m, err := r.meta(s.o.hooks.noLocks)
		if err == nil {
			err = s.putShelf(m, manifestShelf, name, true, b)
		}
		again := err != nil && comesBack(err) && try < maxTries
		if again {
			s.dropIfGone(r)
		}
		r.release()
		if !again {
			return err
		}
	}
}
