// Package shared is what entries of a root share: the files of header contents, manifests
// and jobs, each in .meta/<kind>/<directory>/<name>.
package shared

import (
	"context"
	"fmt"
	"strings"

	"github.com/kernstash/kernstash/internal/safefs"
	"github.com/kernstash/kernstash/key"
	"github.com/kernstash/kernstash/store"
	"github.com/kernstash/kernstash/store/disk/evict"
	"github.com/kernstash/kernstash/store/disk/internal/rootdir"
)

// Spool is the kind of the files of jobs: .meta/spool/<environment>/<job>. Package
// spool knows what they say.
const Spool store.Kind = "spool"

// Kinds are the kinds of files.
var Kinds = []store.Kind{store.Headers, store.Manifests, Spool}

// File names a file.
type File struct {
	Kind      store.Kind
	Dir, Name string
}

// Blobs are named by a digest, below directories of the first two of its digits.
const blobDigits = 2

// Blob returns the file of a blob.
func Blob(kind store.Kind, d key.Digest) File {
	name := d.String()
	return File{kind, name[:blobDigits], name}
}

// Job returns a file of the spool; the error is store.ErrInvalid where the names are
// those of none.
func Job(dir, name string) (File, error) {
	f := File{Spool, dir, name}
	if !f.dirIsOurs() || !f.isOurs() {
		return f, fmt.Errorf("%w: %q/%q names no file of the spool", store.ErrInvalid, dir, name)
	}
	return f, nil
}

// Path returns where the file is in a root.
func (f File) Path() string {
	return rootdir.MetaDir + "/" + string(f.Kind) + "/" + f.Dir + "/" + f.Name
}

// Digest returns the digest that names a blob.
func (f File) Digest() (key.Digest, error) { return key.ParseDigest(f.Name) }

func (f File) dirIsOurs() bool {
	if f.Kind == Spool {
		return rootdir.IsDirName(f.Dir)
	}
	return len(f.Dir) == blobDigits
}

// isOurs reports whether the file may be one of ours. Those of the spool are "<32
// digits>.<word>", and parts of a job have one word more, of lower-case letters and digits.
func (f File) isOurs() bool {
	if f.Kind != Spool {
		d, err := f.Digest()
		return err == nil && f == Blob(f.Kind, d)
	}
	words := strings.Split(f.Name, ".")
	if len(words) < 2 || len(words) > 3 || !rootdir.IsDirName(words[0]) {
		return false
	}
	for _, w := range words[1:] {
		if len(w) == 0 || len(w) > 16 || strings.Trim(w, "0123456789abcdefghijklmnopqrstuvwxyz") != "" {
			return false
		}
	}
	return true
}

// Write makes the file; with replace in the place of what is there, else that is
// fs.ErrExist. It is fs.ErrNotExist where a directory went meanwhile.
func (f File) Write(p *rootdir.Place, m *rootdir.Meta, replace bool, b []byte) error {
	top, err := rootdir.EnsureDir(m.Dir, string(f.Kind))
	if err != nil {
		return err
	}
	defer top.Close()
	dir, err := rootdir.EnsureDir(top, f.Dir)
	if err != nil {
		return err
	}
	defer dir.Close()
	added := evict.Usage{Bytes: rootdir.Blocks(int64(len(b)))}
	if replace {
		added = added.Minus(rootdir.FileUsage(nil, rootdir.Stat(dir, f.Name)))
	}
	if err := dir.Publish(m.Tmp, f.Name, replace, p.NowNanos(), b); err != nil {
		return err
	}
	p.AccountAdd(m, evict.Shared, added)
	return nil
}

// Remove removes the file in its directory, unless another one has its name by now.
func (f File) Remove(p *rootdir.Place, m *rootdir.Meta, dir safefs.Dir, was safefs.Info) (gone bool, err error) {
	info, err := dir.Lstat(f.Name)
	if err == nil && (info.Mtime != was.Mtime || info.Ino != was.Ino) {
		return false, nil
	}
	if err == nil {
		err = dir.Remove(f.Name)
	}
	if err != nil {
		return false, rootdir.IgnoreGone(err)
	}
	p.AccountAdd(m, evict.Shared, evict.Usage{}.Minus(rootdir.FileUsage(nil, &info)))
	return true, nil
}

// Each calls f for the files that have a name of ours, and then removes the directories that
// are empty, if prune is set; not those that a writer has just made. In the spool everything
// is a file that is no directory.
func Each(r *rootdir.Root, kind store.Kind, prune bool, f func(dir safefs.Dir, file File, info safefs.Info) error) error {
	top, err := r.Dir.OpenDir(rootdir.MetaDir + "/" + string(kind))
	if err != nil {
		return rootdir.IgnoreGone(err)
	}
	defer top.Close()
	names, err := rootdir.ListNames(top)
	for _, name := range names {
		if file := (File{Kind: kind, Dir: name}); err == nil && file.dirIsOurs() {
			err = each(top, file, prune, f)
		}
	}
	return err
}

func each(top safefs.Dir, file File, prune bool, f func(dir safefs.Dir, file File, info safefs.Info) error) error {
	dir, err := top.OpenDir(file.Dir)
	if err != nil {
		return nil // not ours, or gone
	}
	defer dir.Close()
	names, err := rootdir.ListNames(dir)
	if err != nil {
		return err
	}
	prune = prune && !(len(names) == 0 && rootdir.JustMade(dir.Stat()))
	for _, file.Name = range names {
		if !file.isOurs() {
			continue
		}
		info, err := dir.Lstat(file.Name)
		if err != nil || info.Kind == safefs.Directory || info.Kind != safefs.Regular && file.Kind != Spool {
			continue
		}
		if err := f(dir, file, info); err != nil {
			return err
		}
	}
	if prune {
		_ = top.Rmdir(file.Dir) // fails where something is left
	}
	return nil
}

// EachUsage calls f with what each file takes.
func EachUsage(ctx context.Context, r *rootdir.Root, f func(evict.Usage)) error {
	for _, kind := range Kinds {
		err := Each(r, kind, false, func(_ safefs.Dir, _ File, info safefs.Info) error {
			f(rootdir.FileUsage(nil, &info))
			return ctx.Err()
		})
		if err != nil {
			return err
		}
	}
	return nil
}
