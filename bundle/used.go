package bundle

import (
	"context"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// Usage is what programs have done with a cache of another tool since [Reader.Watch].
type Usage struct {
	Name    string `json:"name"`
	Files   int    `json:"files"`   // that were restored
	Read    *int   `json:"read"`    // how many of them were read; nil where the file system does not tell
	Written int    `json:"written"` // how many of them were written anew, and not read since
	New     int    `json:"new"`     // files that programs have added
}

// unread is by how much a file was read before it was written, as far as its times say: file systems note
// the next time that it is read then, with relatime, too.
const unread = time.Second

// Watch has [Reader.Used] begin to count, for a directory that the bundle was restored into.
func (b *Reader) Watch(ctx context.Context, dir string) error {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer root.Close()
	for _, f := range b.Files {
		if err := ctx.Err(); err != nil {
			return err
		}
		if strings.HasPrefix(f.Path, harvested) {
			_ = setUnread(root, f.Path) // a program may have removed it
		}
	}
	return nil
}

// Used says what programs have done with the caches that were restored into a directory. What several programs
// do there at once is not told apart.
func (b *Reader) Used(ctx context.Context, dir string) (all []Usage, err error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	told := tellsReads(root)
	files := make(map[string]bool)
	for _, f := range b.Files {
		files[f.Path] = true
	}
	for _, h := range b.Harvests {
		u, read := Usage{Name: h.Name, Files: h.Files}, 0
		if told {
			u.Read = &read
		}
		err := fs.WalkDir(root.FS(), harvested+h.Name, func(path string, d fs.DirEntry, err error) error {
			if ctx.Err() != nil {
				return ctx.Err()
			}
			if err != nil || d.IsDir() {
				return nil // programs may be at work
			}
			if !files[path] {
				u.New++
				return nil
			}
			info, err := d.Info()
			if err != nil {
				return nil
			}
			switch at, known := accessed(info); {
			case !known, at.Equal(info.ModTime().Add(-unread)):
			case at.After(info.ModTime()):
				read++
			default: // one that was made in place of it was read when it was made, as its times say
				u.Written++
			}
			return nil
		})
		if err != nil {
			return nil, err
		}
		all = append(all, u)
	}
	return all, nil
}

func setUnread(root *os.Root, path string) error {
	name := filepath.FromSlash(path)
	info, err := root.Lstat(name)
	if err != nil || !info.Mode().IsRegular() {
		return err
	}
	return root.Chtimes(name, info.ModTime().Add(-unread), info.ModTime())
}

func wasRead(info fs.FileInfo) bool {
	at, known := accessed(info)
	return known && !at.Before(info.ModTime())
}

// tellsReads reports whether the file system of a restored bundle notes when files are read.
func tellsReads(root *os.Root) bool {
	if setUnread(root, ManifestName) != nil {
		return false
	}
	before, err := root.Stat(ManifestName)
	if err != nil || wasRead(before) {
		return false
	}
	if _, err := readFile(root, ManifestName, maxManifest); err != nil {
		return false
	}
	after, err := root.Stat(ManifestName)
	return err == nil && wasRead(after)
}
