package disk

import (
	"context"
	"crypto/sha256"
	"errors"
	"io"

	"github.com/kernstash/kernstash/internal/beneath"
	"github.com/kernstash/kernstash/internal/format"
	"github.com/kernstash/kernstash/key"
	"github.com/kernstash/kernstash/stats"
	"github.com/kernstash/kernstash/store"
)

// maxHeaderFile is the largest header file whose content is kept. What is
// larger is in the key all the same, but cannot be built again.
const maxHeaderFile = 64 << 20

// Header returns the content of a header file that a recipe names, by its
// digest, which was checked. Whatever prevents this is a *store.MissError:
// entries hit without it, only building again needs it.
func (s *Store) Header(ctx context.Context, d key.Digest) (content []byte, err error) {
	err = s.onShelf(ctx, headerShelf, d, maxHeaderFile, func(f beneath.File, info beneath.Info) error {
		if err := checkContent(f, info.Size, d); err != nil {
			s.count(stats.Corrupt, 1)
			return err
		}
		content = make([]byte, info.Size)
		if err := readFull(f, content); err != nil {
			return err
		}
		if sha256.Sum256(content) != d {
			return format.ErrDigest // it changes while we look
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return content, nil
}

// HasHeader says whether there is a file of this size for a header's content.
// It is not read.
func (s *Store) HasHeader(d key.Digest, size int64) bool {
	r, err := s.acquire(false)
	if err != nil {
		return false
	}
	defer r.release()
	f, info, err := s.openShelf(r, headerShelf, d, maxHeaderFile)
	if err != nil {
		return false
	}
	f.Close()
	return info.Size == size
}

// checkContent reads a file of size bytes with little memory: it may be a
// hole, and lie about its size.
func checkContent(f beneath.File, size int64, d key.Digest) error {
	h := sha256.New()
	_, err := io.CopyBuffer(h, io.NewSectionReader(f, 0, size), make([]byte, 32<<10))
	switch {
	case errors.Is(err, io.ErrUnexpectedEOF):
		return format.ErrTruncated
	case err != nil:
		return err
	case key.Digest(h.Sum(nil)) != d:
		return format.ErrDigest
	}
	return nil
}

// putHeaders keeps the contents that an entry brings, each once. An entry is
// good without them, so trouble with them is told and ends there; except where
// .meta itself is gone, which the put notices by it.
func (s *Store) putHeaders(r *root, m *meta, e *store.Entry) error {
	for d, content := range e.Headers {
		err := s.putHeader(r, m, d, content)
		if err != nil && r.metaGone() {
			return err
		}
		if err != nil {
			s.o.Trace.Warn("header not kept", "digest", d.Dir(), "reason", err)
		}
	}
	return nil
}

func (s *Store) putHeader(r *root, m *meta, d key.Digest, content []byte) error {
	if len(content) > maxHeaderFile || sha256.Sum256(content) != d {
		return store.ErrInvalid
	}
	f, info, err := s.openShelf(r, headerShelf, d, maxHeaderFile)
	if err == nil {
		defer f.Close()
		if info.Size == int64(len(content)) {
			// One that no recipe used may be about to be collected.
			if now := s.nowNanos(); info.Links == 1 && now-info.Mtime > int64(orphanAge)/2 {
				return f.SetMtime(now)
			}
			return nil
		}
	}
	replace := err == nil || damaged(err) || errors.Is(err, store.ErrTooLarge)
	return s.putShelf(m, headerShelf, d, replace, content)
}

// PutHeaders keeps contents of header files, by digest, for a job whose recipe
// names them: each once. Trouble is told, and ends there.
func (s *Store) PutHeaders(ctx context.Context, headers map[key.Digest][]byte) {
	if len(headers) == 0 {
		return
	}
	err := s.withMeta(ctx, func(r *root, m *meta) error {
		return s.putHeaders(r, m, &store.Entry{Headers: headers})
	})
	if err != nil {
		s.o.Trace.Warn("headers not kept", "reason", err)
	}
}
