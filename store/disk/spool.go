package disk

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"path/filepath"
	"time"

	"github.com/kernstash/kernstash/internal/safefs"
	"github.com/kernstash/kernstash/spool"
	"github.com/kernstash/kernstash/store"
	"github.com/kernstash/kernstash/store/disk/internal/rootdir"
	"github.com/kernstash/kernstash/store/disk/internal/shared"
)

// SpoolPut makes a file of the spool; see [spool.Store].
func (s *Store) SpoolPut(ctx context.Context, dir, name string, write func() ([]byte, error)) (made bool, err error) {
	f, err := shared.Job(dir, name)
	if err == nil {
		err = s.at.Write(ctx, func(r *rootdir.Root, m *rootdir.Meta) (err error) {
			made, err = s.spoolPut(r, m, f, write)
			return err
		})
	}
	if err != nil {
		return false, fmt.Errorf("spool %s: %w", name, err)
	}
	return made, nil
}

func (s *Store) spoolPut(r *rootdir.Root, m *rootdir.Meta, f shared.File, write func() ([]byte, error)) (made bool, err error) {
	if _, err := s.look(r, f); err == nil {
		return false, nil
	}
	if _, err := s.evictor.Reserve(m.Account); err != nil {
		return false, err
	}
	b, err := write()
	if err != nil {
		return false, err
	}
	err = f.Write(s.at, m, false, b)
	if errors.Is(err, fs.ErrExist) {
		return false, nil
	}
	return err == nil, err
}

// SpoolFiles returns the files of the spool that may be ours; see [spool.Store].
// There being no root, or no spool, is no error.
func (s *Store) SpoolFiles(ctx context.Context) (files []spool.File, err error) {
	err = s.at.Look(ctx, func(r *rootdir.Root) error {
		files = nil
		return shared.Each(r, shared.Spool, false, func(_ safefs.Dir, f shared.File, info safefs.Info) error {
			if info.Kind != safefs.Regular {
				info.Size = 0
			}
			files = append(files, spoolFile(f, info))
			return ctx.Err()
		})
	})
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return files, fmt.Errorf("spool: %w", err)
	}
	return files, nil
}

func spoolFile(f shared.File, info safefs.Info) spool.File {
	return spool.File{Dir: f.Dir, Name: f.Name, Size: info.Size, Modified: time.Unix(0, info.Mtime), ID: info.Ino}
}

// SpoolRead returns what a file of the spool holds; see [spool.Store].
func (s *Store) SpoolRead(ctx context.Context, dir, name string, limit int64) (b []byte, f spool.File, err error) {
	file, err := shared.Job(dir, name)
	if err == nil {
		err = s.at.Look(ctx, func(r *rootdir.Root) error {
			var info safefs.Info
			b, info, err = s.at.ReadFile(r.Dir, file.Path(), limit, nil)
			f = spoolFile(file, info)
			return err
		})
	}
	if err != nil {
		return nil, spool.File{}, fmt.Errorf("spool: read %s: %w", file.Path(), err)
	}
	return b, f, nil
}

// SpoolRemove removes a file of the spool; see [spool.Store].
func (s *Store) SpoolRemove(ctx context.Context, f spool.File) error {
	file, err := shared.Job(f.Dir, f.Name)
	if err == nil {
		err = s.at.Change(ctx, func(r *rootdir.Root) error {
			d, err := r.Dir.OpenDir(path.Dir(file.Path()))
			if err != nil {
				return err
			}
			defer d.Close()
			m, err := r.Meta()
			if err != nil {
				return err
			}
			_, err = file.Remove(s.at, m, d, safefs.Info{Mtime: f.Modified.UnixNano(), Ino: f.ID})
			return err
		})
	}
	if rootdir.IgnoreGone(err) != nil {
		return fmt.Errorf("spool: remove %s: %w", f.Name, err)
	}
	return nil
}

// lookWorker is how long a caller that wants the lock of the worker waits: as long as those
// take who only ask whether somebody has it.
const lookWorker = 50 * time.Millisecond

// LockWorker takes the lock of the one worker of the root, if nobody has it. It ends with
// the process. store.ErrLocked: there is a worker; any other error: nobody can know.
func (s *Store) LockWorker(ctx context.Context) (unlock func(), err error) {
	unlock, err = s.at.Lock(ctx, rootdir.WorkerLock, lookWorker)
	if err != nil {
		return nil, fmt.Errorf("lock of the worker: %w", err)
	}
	return unlock, nil
}

// HasWorker reports whether a process has the lock of the worker. It makes nothing where there
// is no cache.
func (s *Store) HasWorker() bool {
	err := s.at.Look(context.Background(), func(r *rootdir.Root) error {
		_, err := r.LookMeta()
		return err
	})
	if err != nil {
		return false
	}
	unlock, err := s.at.Lock(context.Background(), rootdir.WorkerLock, 0)
	if err == nil {
		unlock()
	}
	return errors.Is(err, store.ErrLocked)
}

// A Note is a small file in .meta that processes leave for each other. No account is kept
// of notes.
type Note string

// The notes.
const (
	WorkerNote Note = "worker"      // how the worker is, or was last
	StopNote   Note = "worker-stop" // the worker is asked to end
	WaitNote   Note = "worker-wait" // somebody waited for the worker then
	FilesNote  Note = "files"       // digests of compilers and of what they read, see internal/contents
)

const (
	maxNote = 256 << 10
	workDir = "work" // in .meta: where a worker's builders work
)

// PutNote writes a note in the place of the last one.
func (s *Store) PutNote(ctx context.Context, n Note, b []byte) error {
	err := s.at.Write(ctx, func(_ *rootdir.Root, m *rootdir.Meta) error {
		return m.Dir.Publish(m.Tmp, string(n), true, s.at.NowNanos(), b)
	})
	if err != nil {
		return fmt.Errorf("write note %s: %w", n, err)
	}
	return nil
}

// ReadNote returns a note, and when it was written. One that is not there is
// fs.ErrNotExist.
func (s *Store) ReadNote(n Note) (b []byte, at time.Time, err error) {
	err = s.at.Look(context.Background(), func(r *rootdir.Root) error {
		var info safefs.Info
		b, info, err = s.at.ReadFile(r.Dir, rootdir.MetaDir+"/"+string(n), maxNote, nil)
		at = time.Unix(0, info.Mtime)
		return err
	})
	if err != nil {
		return nil, time.Time{}, fmt.Errorf("read note %s: %w", n, err)
	}
	return b, at, nil
}

// RemoveNote removes a note. One that is not there is no error.
func (s *Store) RemoveNote(n Note) {
	_ = s.at.Change(context.Background(), func(r *rootdir.Root) error {
		d, err := r.Dir.OpenDir(rootdir.MetaDir)
		if err != nil {
			return err
		}
		defer d.Close()
		return d.Remove(string(n))
	})
}

// WorkDir returns the path of the directory in which the builders of the one worker
// work, and makes it. Only who holds the worker's lock may use it. It is on the
// root's file system, from which drivers must be able to load code.
func (s *Store) WorkDir(ctx context.Context) (string, error) {
	err := s.at.Write(ctx, func(_ *rootdir.Root, m *rootdir.Meta) error {
		d, err := rootdir.EnsureDir(m.Dir, workDir)
		if err != nil {
			return err
		}
		defer d.Close()
		info, err := d.Stat()
		if err == nil && (info.Kind != safefs.Directory || !s.at.Trusted(info)) {
			err = rootdir.ErrIrregular
		}
		return err
	})
	if err != nil {
		return "", fmt.Errorf("directory of the worker: %w", err)
	}
	return filepath.Join(s.o.Dir, rootdir.MetaDir, workDir), nil
}

// Dir returns the root, absolute.
func (s *Store) Dir() string { return s.o.Dir }

// ReadDigests implements contents.Shared.
func (s *Store) ReadDigests() ([]byte, error) {
	b, _, err := s.ReadNote(FilesNote)
	return b, err
}

// WriteDigests implements contents.Shared.
func (s *Store) WriteDigests(b []byte) error {
	return s.PutNote(context.Background(), FilesNote, b)
}
