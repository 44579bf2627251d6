package disk

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"time"

	"github.com/kernstash/kernstash/internal/beneath"
	"github.com/kernstash/kernstash/internal/format"
	"github.com/kernstash/kernstash/key"
	"github.com/kernstash/kernstash/stats"
	"github.com/kernstash/kernstash/store"
	"github.com/kernstash/kernstash/store/disk/evict"
)

// Blobs are files in .meta/<kind>, named by a digest, below directories of the
// first two of its digits.

const blobDigits = 2

// maxBlob bounds the bytes of a blob of each kind. A header that is larger is in the
// key all the same, but cannot be built again.
var maxBlob = map[store.Kind]int64{store.Headers: 64 << 20, store.Manifests: 16 << 20}

// splitBlob returns the directory and the name of a digest's file.
func splitBlob(d key.Digest) (dir, name string) {
	name = d.String()
	return name[:blobDigits], name
}

func blobPath(kind store.Kind, d key.Digest) string {
	dir, name := splitBlob(d)
	return metaDir + "/" + string(kind) + "/" + dir + "/" + name
}

// openBlob opens the file of a blob, if it can be believed and is not too large.
func (s *Store) openBlob(r *root, kind store.Kind, d key.Digest) (beneath.File, beneath.Info, error) {
	f, info, err := s.openBin(r.dir, blobPath(kind, d))
	if err == nil && info.Size > maxBlob[kind] {
		f.Close()
		err = fmt.Errorf("%d bytes: %w", info.Size, store.ErrTooLarge)
	}
	return f, info, err
}

// GetBlob returns a blob; see [store.Blobs].
func (s *Store) GetBlob(ctx context.Context, kind store.Kind, name key.Digest) ([]byte, error) {
	if err := ctx.Err(); err != nil {
		return nil, miss(err)
	}
	r, err := s.acquire(false)
	if err != nil {
		return nil, miss(err)
	}
	defer r.release()
	f, info, err := s.openBlob(r, kind, name)
	if errors.Is(err, fs.ErrNotExist) {
		s.dropIfGone(r)
	}
	var b []byte
	if err == nil {
		defer f.Close()
		b, err = s.readBlob(f, info, kind, name)
	}
	if err != nil {
		return nil, miss(wrapPath(blobPath(kind, name), err))
	}
	return b, nil
}

// manifestUsedEvery is how often the use of a manifest is recorded, in its
// modification time: GC goes by days.
const manifestUsedEvery = 12 * time.Hour

func (s *Store) readBlob(f beneath.File, info beneath.Info, kind store.Kind, name key.Digest) ([]byte, error) {
	if kind == store.Headers {
		if err := checkContent(f, info.Size, name); err != nil {
			s.count(stats.Corrupt, 1)
			return nil, err
		}
	}
	b := make([]byte, info.Size)
	if err := readFull(f, b); err != nil {
		return nil, err
	}
	if kind == store.Headers && sha256.Sum256(b) != name {
		return nil, format.ErrDigest // it changes while we look
	}
	// Nothing of a manifest was checked, so one with other names may be anything.
	if now := s.nowNanos(); kind == store.Manifests && !s.o.ReadOnly && info.Links == 1 && now-info.Mtime > int64(manifestUsedEvery) {
		_ = f.SetMtime(now)
	}
	return b, nil
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

// HasBlob reports whether there is a blob; see [store.Blobs].
func (s *Store) HasBlob(kind store.Kind, name key.Digest, size int64) bool {
	r, err := s.acquire(false)
	if err != nil {
		return false
	}
	defer r.release()
	f, info, err := s.openBlob(r, kind, name)
	if err != nil {
		return false
	}
	f.Close()
	return info.Size == size
}

// PutBlob keeps a blob; see [store.Blobs].
func (s *Store) PutBlob(ctx context.Context, kind store.Kind, name key.Digest, content []byte) error {
	err := s.withMeta(ctx, func(r *root, m *meta) error { return s.putBlob(r, m, kind, name, content) })
	if err != nil {
		return fmt.Errorf("put %s: %w", blobPath(kind, name), err)
	}
	return nil
}

func (s *Store) putBlob(r *root, m *meta, kind store.Kind, name key.Digest, content []byte) error {
	switch most, known := maxBlob[kind]; {
	case !known, kind == store.Headers && sha256.Sum256(content) != name:
		return store.ErrInvalid
	case int64(len(content)) > most:
		return fmt.Errorf("%d bytes: %w", len(content), store.ErrTooLarge)
	case kind == store.Manifests:
		return s.writeBlob(m, kind, name, true, content)
	}
	f, info, err := s.openBlob(r, kind, name)
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
	return s.writeBlob(m, kind, name, replace, content)
}

// putHeaders keeps the contents that an entry brings, each once. An entry is
// good without them, so trouble with them is told and ends there; except where
// .meta itself is gone, which the put notices by it.
func (s *Store) putHeaders(r *root, m *meta, e *store.Entry) error {
	for d, content := range e.Headers {
		err := s.putBlob(r, m, store.Headers, d, content)
		if err != nil && r.metaGone() {
			return err
		}
		if err != nil {
			s.o.Trace.Warn("header not kept", "digest", d.Dir(), "reason", err)
		}
	}
	return nil
}

// writeBlob makes b the file of a blob. replace: whatever is there.
func (s *Store) writeBlob(m *meta, kind store.Kind, d key.Digest, replace bool, b []byte) error {
	dirName, name := splitBlob(d)
	for try := 0; ; try++ {
		err := withDir(m.dir, string(kind), func(top beneath.Dir) error {
			return withDir(top, dirName, func(dir beneath.Dir) error {
				var before usage
				if info, err := dir.Lstat(name); replace && err == nil {
					before = fileUsage(nil, &info)
				}
				err := dir.Publish(m.tmp, name, replace, s.nowNanos(), b)
				if err == nil {
					s.accountAdd(m, evict.Shared, usage{Bytes: blocks(int64(len(b)))}.Minus(before))
				}
				return err
			})
		})
		switch {
		case err == nil, !replace && errors.Is(err, fs.ErrExist):
			return nil
		case !errors.Is(err, fs.ErrNotExist) || try == maxTries: // else a directory went meanwhile
			return err
		}
	}
}

// withDir calls f with a directory in d, which is made if need be.
func withDir(d beneath.Dir, name string, f func(beneath.Dir) error) error {
	sub, err := ensureDir(d, name)
	if err != nil {
		return err
	}
	defer sub.Close()
	return f(sub)
}

// eachBlob calls f for every file of a kind that is named as ours are, and
// then removes the directories that are empty, if prune is set; not those that a
// writer has just made.
func eachBlob(r *root, kind store.Kind, prune bool, f func(dir beneath.Dir, location string, d key.Digest, info beneath.Info) error) error {
	top, err := r.dir.OpenDir(metaDir + "/" + string(kind))
	if err != nil {
		return ignoreGone(err)
	}
	defer top.Close()
	names, err := listNames(top)
	if err != nil {
		return err
	}
	for _, dirName := range names {
		if len(dirName) != blobDigits {
			continue
		}
		dir, err := top.OpenDir(dirName)
		if err != nil {
			continue // not ours, or gone
		}
		found := false
		err = eachInDir(dir, dirName, func(name string, d key.Digest, info beneath.Info) error {
			found = true
			return f(dir, metaDir+"/"+string(kind)+"/"+dirName+"/"+name, d, info)
		})
		made := !found && justMade(dir.Stat())
		dir.Close()
		if err != nil {
			return err
		}
		if prune && !made {
			_ = top.Rmdir(dirName) // fails where something is left
		}
	}
	return nil
}

func eachInDir(dir beneath.Dir, dirName string, f func(name string, d key.Digest, info beneath.Info) error) error {
	names, err := listNames(dir)
	if err != nil {
		return err
	}
	for _, name := range names {
		d, err := key.ParseDigest(name)
		if err != nil || d.String() != name || name[:blobDigits] != dirName {
			continue
		}
		info, err := dir.Lstat(name)
		if err != nil || info.Kind != beneath.Regular {
			continue
		}
		if err := f(name, d, info); err != nil {
			return err
		}
	}
	return nil
}

func listNames(d beneath.Dir) (names []string, err error) {
	err = d.Each(func(name string) bool { names = append(names, name); return true })
	return names, ignoreGone(err)
}
