package disk

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"time"

	"github.com/kernstash/kernstash/internal/beneath"
	"github.com/kernstash/kernstash/internal/format"
	"github.com/kernstash/kernstash/key"
	"github.com/kernstash/kernstash/spool"
	"github.com/kernstash/kernstash/store"
	"github.com/kernstash/kernstash/store/disk/evict"
)

// The spool is .meta/spool/<environment>/<job>: work that a worker is to do.
// This file knows names and files; package spool knows what they say.
const spoolDir = "spool"

// isSpoolName says whether a file may be one of ours: "<32 digits>.<word>", and
// for a part of a job one word more, of lower-case letters and digits.
func isSpoolName(name string) bool {
	words := strings.Split(name, ".")
	if len(words) < 2 || len(words) > 3 || !isDirName(words[0]) {
		return false
	}
	for _, w := range words[1:] {
		if len(w) == 0 || len(w) > 16 || strings.Trim(w, "0123456789abcdefghijklmnopqrstuvwxyz") != "" {
			return false
		}
	}
	return true
}

func spoolPath(dir, name string) string { return metaDir + "/" + spoolDir + "/" + dir + "/" + name }

func checkSpoolNames(dir, name string) error {
	if !isDirName(dir) || !isSpoolName(name) {
		return fmt.Errorf("%w: %q/%q names no file of the spool", store.ErrInvalid, dir, name)
	}
	return nil
}

// withMeta calls f with .meta, which is made if need be, and once more when it
// was removed meanwhile.
func (s *Store) withMeta(ctx context.Context, f func(r *root, m *meta) error) error {
	if s.o.ReadOnly {
		return fmt.Errorf("%s is a read-only layer: %w", s.o.Dir, fs.ErrPermission)
	}
	for try := 0; ; try++ {
		if err := ctx.Err(); err != nil {
			return err
		}
		r, err := s.acquire(true)
		if err != nil {
			return err
		}
		m, err := r.meta(s.o.hooks.noLocks)
		if err == nil {
			err = f(r, m)
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

// SpoolPut makes a file of the spool; see [spool.Store].
func (s *Store) SpoolPut(ctx context.Context, dir, name string, write func() ([]byte, error)) (made bool, err error) {
	if err := checkSpoolNames(dir, name); err != nil {
		return false, fmt.Errorf("spool: %w", err)
	}
	err = s.withMeta(ctx, func(r *root, m *meta) (err error) {
		made, err = s.spoolPut(r, m, dir, name, write)
		return err
	})
	if err != nil {
		return false, fmt.Errorf("spool %s: %w", name, err)
	}
	return made, nil
}

func (s *Store) spoolPut(r *root, m *meta, dir, name string, write func() ([]byte, error)) (made bool, err error) {
	d, err := r.dir.OpenDir(metaDir + "/" + spoolDir + "/" + dir)
	if err == nil {
		defer d.Close()
		if info, err := d.Lstat(name); err == nil && info.Kind == beneath.Regular {
			return false, nil
		}
	}
	if err := s.evictor.Full(); err != nil {
		return false, err
	}
	if _, err := s.evictor.Reserve(m.account); err != nil {
		return false, err
	}
	b, err := write()
	if err != nil {
		return false, err
	}
	err = withDir(m.dir, spoolDir, func(top beneath.Dir) error {
		return withDir(top, dir, func(d beneath.Dir) error {
			return d.Publish(m.tmp, name, false, s.nowNanos(), b)
		})
	})
	switch {
	case errors.Is(err, fs.ErrExist):
		return false, nil
	case err != nil:
		return false, err
	}
	s.accountAdd(m, evict.Shared, usage{Bytes: blocks(int64(len(b)))})
	return true, nil
}

// SpoolFiles returns the files of the spool that may be ours; see [spool.Store].
// There being no root, or no spool, is no error.
func (s *Store) SpoolFiles(ctx context.Context, look bool) (files []spool.File, err error) {
	r, err := s.acquire(false)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("spool: %w", err)
	}
	defer r.release()
	if look {
		err = eachSpooled(r, false, func(_ beneath.Dir, f spool.File) error {
			files = append(files, f)
			return ctx.Err()
		})
	} else {
		err = eachSpoolDir(r, false, func(dirName string, _ beneath.Dir, names []string) error {
			for _, name := range names {
				files = append(files, spool.File{Dir: dirName, Name: name})
			}
			return ctx.Err()
		})
	}
	if err != nil {
		return files, fmt.Errorf("spool: %w", err)
	}
	return files, nil
}

// SpoolRead returns what a file of the spool holds; see [spool.Store].
func (s *Store) SpoolRead(ctx context.Context, dir, name string, limit int64) (b []byte, f spool.File, err error) {
	err = checkSpoolNames(dir, name)
	if err == nil {
		err = ctx.Err()
	}
	var r *root
	if err == nil {
		r, err = s.acquire(false)
	}
	if err != nil {
		return nil, f, fmt.Errorf("spool: %w", err)
	}
	defer r.release()
	file, info, err := s.openBin(r.dir, spoolPath(dir, name))
	if err != nil {
		return nil, f, fmt.Errorf("spool: %w", wrapPath(spoolPath(dir, name), err))
	}
	defer file.Close()
	if info.Size > limit {
		return nil, f, fmt.Errorf("spool: %w", wrapPath(spoolPath(dir, name), fmt.Errorf("%d bytes: %w", info.Size, store.ErrTooLarge)))
	}
	b = make([]byte, info.Size)
	if err := readFull(file, b); err != nil {
		return nil, f, fmt.Errorf("spool: %w", wrapPath(spoolPath(dir, name), err))
	}
	return b, spoolFile(dir, name, info), nil
}

// SpoolRemove removes a file of the spool; see [spool.Store].
func (s *Store) SpoolRemove(ctx context.Context, f spool.File) error {
	if err := checkSpoolNames(f.Dir, f.Name); err != nil {
		return fmt.Errorf("spool: %w", err)
	}
	err := s.withMeta(ctx, func(r *root, m *meta) error {
		d, err := r.dir.OpenDir(metaDir + "/" + spoolDir + "/" + f.Dir)
		if err != nil {
			return ignoreGone(err)
		}
		defer d.Close()
		_, err = s.removeSpooled(m, d, f)
		return err
	})
	if err != nil {
		return fmt.Errorf("spool: remove %s: %w", f.Name, err)
	}
	return nil
}

// removeSpooled removes a file unless another one has its name by now. Where
// something is that is no file, it is removed too, unless it is a directory.
func (s *Store) removeSpooled(m *meta, d beneath.Dir, f spool.File) (gone bool, err error) {
	info, err := d.Lstat(f.Name)
	if err != nil || info.Mtime != f.Modified.UnixNano() || info.Ino != f.ID {
		return false, ignoreGone(err)
	}
	if err := d.Remove(f.Name); err != nil {
		return false, ignoreGone(err)
	}
	s.accountAdd(m, evict.Shared, usage{}.Minus(fileUsage(nil, &info)))
	return true, nil
}

func spoolFile(dir, name string, info beneath.Info) spool.File {
	return spool.File{Dir: dir, Name: name, Size: info.Size, Modified: time.Unix(0, info.Mtime), ID: info.Ino}
}

// eachSpoolDir calls f for every directory of the spool with the names in it
// that may be ours, and then removes it if it is empty, if prune is set; not one
// that a writer has just made.
func eachSpoolDir(r *root, prune bool, f func(dirName string, d beneath.Dir, names []string) error) error {
	top, err := r.dir.OpenDir(metaDir + "/" + spoolDir)
	if err != nil {
		return ignoreGone(err)
	}
	defer top.Close()
	dirs, err := listNames(top)
	if err != nil {
		return err
	}
	for _, dirName := range dirs {
		if !isDirName(dirName) {
			continue
		}
		d, err := top.OpenDir(dirName)
		if err != nil {
			continue // not ours, or gone
		}
		names, err := listNames(d)
		made := len(names) == 0 && justMade(d.Stat())
		if err == nil {
			ours := names[:0]
			for _, name := range names {
				if isSpoolName(name) {
					ours = append(ours, name)
				}
			}
			err = f(dirName, d, ours)
		}
		d.Close()
		if err != nil {
			return err
		}
		if prune && !made {
			_ = top.Rmdir(dirName) // fails where something is left
		}
	}
	return nil
}

// eachSpooled calls f for everything in the spool that has a name of ours,
// directories excepted.
func eachSpooled(r *root, prune bool, f func(d beneath.Dir, file spool.File) error) error {
	return eachSpoolDir(r, prune, func(dirName string, d beneath.Dir, names []string) error {
		for _, name := range names {
			info, err := d.Lstat(name)
			if err != nil || info.Kind == beneath.Directory {
				continue
			}
			file := spoolFile(dirName, name, info)
			if info.Kind != beneath.Regular {
				file.Size = 0
			}
			if err := f(d, file); err != nil {
				return err
			}
		}
		return nil
	})
}

// lookWorker is how long who wants the lock of the worker waits: as long as those
// take who only ask whether somebody has it.
const lookWorker = 50 * time.Millisecond

// LockWorker takes the lock of the one worker of the root, if nobody has it. It
// ends with the process. store.ErrLocked: there is a worker; any other error:
// nobody can know.
func (s *Store) LockWorker(ctx context.Context) (unlock func(), err error) {
	unlock, err = s.lockOffset(ctx, workerByte, lookWorker)
	if err != nil {
		return nil, fmt.Errorf("lock of the worker: %w", err)
	}
	return unlock, nil
}

// HasWorker reports whether a process has the lock of the worker. It makes nothing where there
// is no cache.
func (s *Store) HasWorker() bool {
	r, err := s.acquire(false)
	if err != nil {
		return false
	}
	_, err = r.lookMeta(s.o.hooks.noLocks)
	r.release()
	if err != nil {
		return false
	}
	unlock, err := s.lockOffset(context.Background(), workerByte, 0)
	if err == nil {
		unlock()
	}
	return errors.Is(err, store.ErrLocked)
}

// headersOfJobs notes the headers of the recipes that wait in the spool.
func (h *headerUses) headersOfJobs(s *Store, r *root) error {
	if h == nil {
		return nil
	}
	return eachSpooled(r, false, func(d beneath.Dir, file spool.File) error {
		if _, whole := file.Job(); !whole || file.Size > format.MaxJob {
			return nil
		}
		f, info, err := s.openBin(d, file.Name)
		if err != nil {
			return nil // nobody else can read it either
		}
		defer f.Close()
		b := make([]byte, min(info.Size, format.MaxJob))
		if err := readFull(f, b); err != nil {
			return nil
		}
		_, rec, err := format.DecodeJob(b)
		switch {
		case err == nil:
			h.names(rec)
		case errors.Is(err, format.ErrVersion):
			h.unsure = true
		}
		return nil
	})
}

func (h *headerUses) names(r *key.Recipe) {
	for _, u := range r.Image.Units() {
		for i := range u.Files {
			h.used[u.Files[i].Digest] = struct{}{}
		}
	}
}
