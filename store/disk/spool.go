package disk

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"time"

	"github.com/kernstash/kernstash/internal/format"
	"github.com/kernstash/kernstash/internal/safefs"
	"github.com/kernstash/kernstash/key"
	"github.com/kernstash/kernstash/spool"
	"github.com/kernstash/kernstash/store"
	"github.com/kernstash/kernstash/store/disk/evict"
	"github.com/kernstash/kernstash/store/disk/internal/rootdir"
	"github.com/kernstash/kernstash/store/disk/internal/shared"
)

// SpoolPut makes a file of the spool; see [spool.Store].
func (s *Store) SpoolPut(ctx context.Context, dir, name string, write func() ([]byte, error)) (made bool, err error) {
	if err := shared.CheckSpoolNames(dir, name); err != nil {
		return false, fmt.Errorf("spool: %w", err)
	}
	err = s.at.WithMeta(ctx, func(r *rootdir.Root, m *rootdir.Meta) (err error) {
		made, err = s.spoolPut(r, m, dir, name, write)
		return err
	})
	if err != nil {
		return false, fmt.Errorf("spool %s: %w", name, err)
	}
	return made, nil
}

func (s *Store) spoolPut(r *rootdir.Root, m *rootdir.Meta, dir, name string, write func() ([]byte, error)) (made bool, err error) {
	d, err := r.Dir.OpenDir(rootdir.MetaDir + "/" + shared.SpoolDir + "/" + dir)
	if err == nil {
		defer d.Close()
		if info, err := d.Lstat(name); err == nil && info.Kind == safefs.Regular {
			return false, nil
		}
	}
	if err := s.evictor.Full(); err != nil {
		return false, err
	}
	if _, err := s.evictor.Reserve(m.Account); err != nil {
		return false, err
	}
	b, err := write()
	if err != nil {
		return false, err
	}
	err = rootdir.WithDir(m.Dir, shared.SpoolDir, func(top safefs.Dir) error {
		return rootdir.WithDir(top, dir, func(d safefs.Dir) error {
			return d.Publish(m.Tmp, name, false, s.at.NowNanos(), b)
		})
	})
	switch {
	case errors.Is(err, fs.ErrExist):
		return false, nil
	case err != nil:
		return false, err
	}
	s.at.AccountAdd(m, evict.Shared, evict.Usage{Bytes: rootdir.Blocks(int64(len(b)))})
	return true, nil
}

// SpoolFiles returns the files of the spool that may be ours; see [spool.Store].
// There being no root, or no spool, is no error.
func (s *Store) SpoolFiles(ctx context.Context, look bool) (files []spool.File, err error) {
	r, err := s.at.Acquire(false)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("spool: %w", err)
	}
	defer r.Release()
	if look {
		err = shared.EachSpooled(r, false, func(_ safefs.Dir, f spool.File) error {
			files = append(files, f)
			return ctx.Err()
		})
	} else {
		err = shared.EachSpoolDir(r, false, func(dirName string, _ safefs.Dir, names []string) error {
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
	err = shared.CheckSpoolNames(dir, name)
	if err == nil {
		err = ctx.Err()
	}
	var r *rootdir.Root
	if err == nil {
		r, err = s.at.Acquire(false)
	}
	if err != nil {
		return nil, f, fmt.Errorf("spool: %w", err)
	}
	defer r.Release()
	file, info, err := s.at.OpenBin(r.Dir, shared.SpoolPath(dir, name))
	if err != nil {
		return nil, f, fmt.Errorf("spool: %w", rootdir.WrapPath(shared.SpoolPath(dir, name), err))
	}
	defer file.Close()
	if info.Size > limit {
		return nil, f, fmt.Errorf("spool: %w", rootdir.WrapPath(shared.SpoolPath(dir, name), fmt.Errorf("%d bytes: %w", info.Size, store.ErrTooLarge)))
	}
	b = make([]byte, info.Size)
	if err := rootdir.ReadFull(file, b); err != nil {
		return nil, f, fmt.Errorf("spool: %w", rootdir.WrapPath(shared.SpoolPath(dir, name), err))
	}
	return b, shared.SpoolFile(dir, name, info), nil
}

// SpoolRemove removes a file of the spool; see [spool.Store].
func (s *Store) SpoolRemove(ctx context.Context, f spool.File) error {
	if err := shared.CheckSpoolNames(f.Dir, f.Name); err != nil {
		return fmt.Errorf("spool: %w", err)
	}
	err := s.at.WithMeta(ctx, func(r *rootdir.Root, m *rootdir.Meta) error {
		d, err := r.Dir.OpenDir(rootdir.MetaDir + "/" + shared.SpoolDir + "/" + f.Dir)
		if err != nil {
			return rootdir.IgnoreGone(err)
		}
		defer d.Close()
		_, err = shared.RemoveSpooled(s.at, m, d, f)
		return err
	})
	if err != nil {
		return fmt.Errorf("spool: remove %s: %w", f.Name, err)
	}
	return nil
}

// lookWorker is how long who wants the lock of the worker waits: as long as those
// take who only ask whether somebody has it.
const lookWorker = 50 * time.Millisecond

// LockWorker takes the lock of the one worker of the root, if nobody has it. It
// ends with the process. store.ErrLocked: there is a worker; any other error:
// nobody can know.
func (s *Store) LockWorker(ctx context.Context) (unlock func(), err error) {
	unlock, err = s.at.LockOffset(ctx, rootdir.WorkerByte, lookWorker)
	if err != nil {
		return nil, fmt.Errorf("lock of the worker: %w", err)
	}
	return unlock, nil
}

// HasWorker reports whether a process has the lock of the worker. It makes nothing where there
// is no cache.
func (s *Store) HasWorker() bool {
	r, err := s.at.Acquire(false)
	if err != nil {
		return false
	}
	_, err = r.LookMeta()
	r.Release()
	if err != nil {
		return false
	}
	unlock, err := s.at.LockOffset(context.Background(), rootdir.WorkerByte, 0)
	if err == nil {
		unlock()
	}
	return errors.Is(err, store.ErrLocked)
}

// headersOfJobs notes the headers of the recipes that wait in the spool.
func (h *headerUses) headersOfJobs(s *Store, r *rootdir.Root) error {
	if h == nil {
		return nil
	}
	return shared.EachSpooled(r, false, func(d safefs.Dir, file spool.File) error {
		if _, whole := file.Job(); !whole || file.Size > format.MaxJob {
			return nil
		}
		f, info, err := s.at.OpenBin(d, file.Name)
		if err != nil {
			return nil // nobody else can read it either
		}
		defer f.Close()
		b := make([]byte, min(info.Size, format.MaxJob))
		if err := rootdir.ReadFull(f, b); err != nil {
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
