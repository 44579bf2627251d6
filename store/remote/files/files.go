// Package files keeps objects in a directory that machines share: NFS, Lustre, a volume that is
// mounted by many pods. It promises no more than the file system does: on NFS an object may be
// seen some seconds late; after a crash one may be empty or half, which whoever reads it finds
// out by its digests. There are no leases, since locks of shared file systems are not to be
// relied on, and no limit of size: 'kernstash remote gc' removes what is old.
package files

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"math/rand/v2"
	"os"
	"path"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/kernstash/kernstash/store"
	"github.com/kernstash/kernstash/store/remote"
)

// temporary begins the names of files that are being written. No object's name has a part that
// begins so.
const temporary = ".tmp-"

// abandoned is the age of a file that is being written by nobody any more.
const abandoned = 24 * time.Hour

// Directory keeps objects in a directory. It is a [remote.Objects]. Where the file system hangs,
// a method that gave up leaves a goroutine behind until it goes on.
type Directory struct{ root *os.Root }

// Open opens a directory, which must be there: one that is not is a file system that is not
// mounted.
func Open(dir string) (*Directory, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, fmt.Errorf("open remote: %w", err)
	}
	return &Directory{root}, nil
}

// Close closes the directory.
func (d *Directory) Close() error { return d.root.Close() }

// Get returns the content of a file.
func (d *Directory) Get(ctx context.Context, name string, limit int64) ([]byte, error) {
	return within(ctx, "get", name, func() ([]byte, error) {
		f, err := d.root.OpenFile(name, os.O_RDONLY|nonblock, 0)
		if err != nil {
			return nil, err
		}
		defer f.Close()
		info, err := f.Stat()
		switch {
		case err != nil:
			return nil, err
		case !info.Mode().IsRegular():
			return nil, remote.ErrNotFound
		case info.Size() > limit:
			return nil, remote.ErrTooLarge
		}
		b, err := io.ReadAll(io.LimitReader(store.Flowing(ctx, f, info.Size()), limit+1))
		if err == nil && int64(len(b)) > limit {
			return nil, remote.ErrTooLarge
		}
		return b, err
	})
}

// Put writes a file beside, and moves it to its name.
func (d *Directory) Put(ctx context.Context, name string, b []byte, replace bool) error {
	_, err := within(ctx, "put", name, func() (struct{}, error) { return struct{}{}, d.put(name, b, replace) })
	return err
}

func (d *Directory) put(name string, b []byte, replace bool) error {
	if !replace {
		if _, err := d.root.Lstat(name); err == nil {
			return remote.ErrExists
		}
	}
	dir := path.Dir(name)
	if err := d.root.MkdirAll(dir, 0o777); err != nil {
		return err
	}
	beside := path.Join(dir, temporary+strconv.FormatUint(rand.Uint64(), 36))
	f, err := d.root.OpenFile(beside, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666) // who may read it is the umask's to say
	if err != nil {
		return err
	}
	_, err = f.Write(b)
	if closeErr := f.Close(); err == nil {
		err = closeErr
	}
	switch {
	case err != nil:
	case replace:
		if err = d.root.Rename(beside, name); err == nil {
			return nil
		}
	default:
		// A link, unlike a rename, replaces nothing. Not all file systems have links.
		if err = d.root.Link(beside, name); err != nil && !errors.Is(err, fs.ErrExist) {
			if err = d.root.Rename(beside, name); err == nil {
				return nil
			}
		}
	}
	_ = d.root.Remove(beside)
	return err
}

// Delete removes a file. Its directories stay.
func (d *Directory) Delete(ctx context.Context, name string) error {
	_, err := within(ctx, "delete", name, func() (struct{}, error) { return struct{}{}, d.root.Remove(name) })
	if errors.Is(err, remote.ErrNotFound) {
		return nil
	}
	return err
}

// List walks the directories that hold such names.
func (d *Directory) List(ctx context.Context, prefix string) iter.Seq2[remote.Object, error] {
	return func(yield func(remote.Object, error) bool) {
		root := path.Dir(prefix + "x")
		if prefix != "" && !fs.ValidPath(root) {
			yield(remote.Object{}, fmt.Errorf("list %q: %w", prefix, fs.ErrInvalid))
			return
		}
		dirs := []string{root}
		for len(dirs) > 0 {
			dir := dirs[len(dirs)-1]
			dirs = dirs[:len(dirs)-1]
			all, err := within(ctx, "list", dir, func() ([]fs.DirEntry, error) { return fs.ReadDir(d.root.FS(), dir) })
			if errors.Is(err, remote.ErrNotFound) {
				continue
			}
			if err != nil {
				yield(remote.Object{}, err)
				return
			}
			for _, e := range all {
				name := path.Join(dir, e.Name())
				if e.IsDir() {
					if strings.HasPrefix(name+"/", prefix) || strings.HasPrefix(prefix, name+"/") {
						dirs = append(dirs, name)
					}
					continue
				}
				info, err := within(ctx, "list", name, e.Info)
				switch {
				case err != nil && ctx.Err() != nil:
					yield(remote.Object{}, err)
					return
				case err != nil || !info.Mode().IsRegular(): // it went, or is none of ours
				case strings.HasPrefix(e.Name(), temporary):
					// A prefix that is not a directory, such as "v", meets what is not ours, too.
					if strings.HasSuffix(prefix, "/") && time.Since(info.ModTime()) > abandoned {
						_, _ = within(ctx, "clean", name, func() (struct{}, error) { return struct{}{}, d.root.Remove(name) })
					}
				case strings.HasPrefix(name, prefix) && check(name) == nil:
					if !yield(remote.Object{Name: name, Size: info.Size(), Modified: info.ModTime()}, nil) {
						return
					}
				}
			}
		}
	}
}

// within does what may hang, and no longer than ctx.
func within[T any](ctx context.Context, op, name string, do func() (T, error)) (T, error) {
	type result struct {
		v   T
		err error
	}
	var none T
	if err := ctx.Err(); err != nil {
		return none, fmt.Errorf("%s %s: %w", op, name, err)
	}
	if err := check(name); err != nil && op != "list" && op != "clean" {
		return none, fmt.Errorf("%s %q: %w", op, name, err)
	}
	done := make(chan result, 1)
	go func() {
		v, err := do()
		done <- result{v, err}
	}()
	select {
	case r := <-done:
		if r.err != nil {
			return none, fmt.Errorf("%s %s: %w", op, name, meaning(r.err))
		}
		return r.v, nil
	case <-ctx.Done():
		return none, fmt.Errorf("%s %s: %w", op, name, ctx.Err())
	}
}

// meaning says of an error what those of package remote say.
func meaning(err error) error {
	switch {
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, syscall.ENOTDIR):
		return remote.ErrNotFound
	case errors.Is(err, fs.ErrExist):
		return remote.ErrExists
	case errors.Is(err, syscall.ENOSPC), errors.Is(err, errQuota):
		return fmt.Errorf("%w: %w", remote.ErrFull, err)
	}
	return err
}

// check refuses what is no name of an object, above all what leads out of the directory.
func check(name string) error {
	bad := func(r rune) bool {
		return !(r >= 'a' && r <= 'z' || r >= '0' && r <= '9' || strings.ContainsRune(".-_/", r))
	}
	if len(name) > 512 || name == "." || !fs.ValidPath(name) || strings.ContainsFunc(name, bad) || strings.Contains("/"+name, "/"+temporary) {
		return fs.ErrInvalid
	}
	return nil
}
