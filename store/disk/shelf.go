package disk

import (
	"context"
	"errors"
	"fmt"
	"io/fs"

	"github.com/kernstash/kernstash/internal/beneath"
	"github.com/kernstash/kernstash/key"
	"github.com/kernstash/kernstash/store"
	"github.com/kernstash/kernstash/store/disk/evict"
)

// shelf is a directory in .meta whose files are named by a digest, below
// directories of the first two of its digits.
type shelf string

// The shelves.
const (
	headerShelf   shelf = "headers"
	manifestShelf shelf = "manifests"
)

const shelfDigits = 2

// split returns the directory and the name of a digest's file.
func (sh shelf) split(d key.Digest) (dir, name string) {
	name = d.String()
	return name[:shelfDigits], name
}

func (sh shelf) path(d key.Digest) string {
	dir, name := sh.split(d)
	return metaDir + "/" + string(sh) + "/" + dir + "/" + name
}

// openShelf opens the file of a digest, if it can be believed and is no larger
// than most.
func (s *Store) openShelf(r *root, sh shelf, d key.Digest, most int64) (beneath.File, beneath.Info, error) {
	f, info, err := s.openBin(r.dir, sh.path(d))
	if err == nil && info.Size > most {
		f.Close()
		err = fmt.Errorf("%d bytes: %w", info.Size, store.ErrTooLarge)
	}
	return f, info, err
}

// onShelf calls read with the open file of a digest, and makes an error a miss.
func (s *Store) onShelf(ctx context.Context, sh shelf, d key.Digest, most int64, read func(beneath.File, beneath.Info) error) error {
	if err := ctx.Err(); err != nil {
		return miss(err)
	}
	r, err := s.acquire(false)
	if err != nil {
		return miss(err)
	}
	defer r.release()
	f, info, err := s.openShelf(r, sh, d, most)
	if errors.Is(err, fs.ErrNotExist) {
		s.dropIfGone(r)
	}
	if err == nil {
		defer f.Close()
		err = read(f, info)
	}
	if err != nil {
		return miss(wrapPath(sh.path(d), err))
	}
	return nil
}

// putShelf makes b the file of a digest. replace: whatever is there.
func (s *Store) putShelf(m *meta, sh shelf, d key.Digest, replace bool, b []byte) error {
	dirName, name := sh.split(d)
	for try := 0; ; try++ {
		err := withDir(m.dir, string(sh), func(top beneath.Dir) error {
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
			return fmt.Errorf("put %s: %w", sh.path(d), err)
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

// eachOnShelf calls f for every file on a shelf that is named as ours are, and
// then removes the directories that are empty, if prune is set; not those that a
// writer has just made.
func eachOnShelf(r *root, sh shelf, prune bool, f func(dir beneath.Dir, location string, d key.Digest, info beneath.Info) error) error {
	top, err := r.dir.OpenDir(metaDir + "/" + string(sh))
	if err != nil {
		return ignoreGone(err)
	}
	defer top.Close()
	names, err := listNames(top)
	if err != nil {
		return err
	}
	for _, dirName := range names {
		if len(dirName) != shelfDigits {
			continue
		}
		dir, err := top.OpenDir(dirName)
		if err != nil {
			continue // not ours, or gone
		}
		found := false
		err = eachInDir(dir, dirName, func(name string, d key.Digest, info beneath.Info) error {
			found = true
			return f(dir, metaDir+"/"+string(sh)+"/"+dirName+"/"+name, d, info)
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
		if err != nil || d.String() != name || name[:shelfDigits] != dirName {
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
