package shared

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"

	"github.com/kernstash/kernstash/internal/format"
	"github.com/kernstash/kernstash/internal/safefs"
	"github.com/kernstash/kernstash/key"
	"github.com/kernstash/kernstash/store"
	"github.com/kernstash/kernstash/store/disk/evict"
	"github.com/kernstash/kernstash/store/disk/internal/rootdir"
)

// Blobs are files in .meta/<kind>, named by a digest, below directories of the
// first two of its digits.

const blobDigits = 2

// MaxBlob bounds the bytes of a blob of each kind. A header that is larger is in the
// key all the same, but cannot be built again.
var MaxBlob = map[store.Kind]int64{store.Headers: 64 << 20, store.Manifests: 16 << 20}

// splitBlob returns the directory and the name of a digest's file.
func splitBlob(d key.Digest) (dir, name string) {
	name = d.String()
	return name[:blobDigits], name
}

func BlobPath(kind store.Kind, d key.Digest) string {
	dir, name := splitBlob(d)
	return rootdir.MetaDir + "/" + string(kind) + "/" + dir + "/" + name
}

// OpenBlob opens the file of a blob, if it can be believed and is not too large.
func OpenBlob(p *rootdir.Place, r *rootdir.Root, kind store.Kind, d key.Digest) (safefs.File, safefs.Info, error) {
	f, info, err := p.OpenBin(r.Dir, BlobPath(kind, d))
	if err == nil && info.Size > MaxBlob[kind] {
		f.Close()
		err = fmt.Errorf("%d bytes: %w", info.Size, store.ErrTooLarge)
	}
	return f, info, err
}

// CheckContent reads a file of size bytes with little memory: it may be a
// hole, and lie about its size.
func CheckContent(f safefs.File, size int64, d key.Digest) error {
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

// WriteBlob makes b the file of a blob. replace: whatever is there.
func WriteBlob(p *rootdir.Place, m *rootdir.Meta, kind store.Kind, d key.Digest, replace bool, b []byte) error {
	dirName, name := splitBlob(d)
	for try := 0; ; try++ {
		err := rootdir.WithDir(m.Dir, string(kind), func(top safefs.Dir) error {
			return rootdir.WithDir(top, dirName, func(dir safefs.Dir) error {
				var before evict.Usage
				if info, err := dir.Lstat(name); replace && err == nil {
					before = rootdir.FileUsage(nil, &info)
				}
				err := dir.Publish(m.Tmp, name, replace, p.NowNanos(), b)
				if err == nil {
					p.AccountAdd(m, evict.Shared, evict.Usage{Bytes: rootdir.Blocks(int64(len(b)))}.Minus(before))
				}
				return err
			})
		})
		switch {
		case err == nil, !replace && errors.Is(err, fs.ErrExist):
			return nil
		case !errors.Is(err, fs.ErrNotExist) || try == rootdir.MaxTries: // else a directory went meanwhile
			return err
		}
	}
}

// EachBlob calls f for every file of a kind that is named as ours are, and
// then removes the directories that are empty, if prune is set; not those that a
// writer has just made.
func EachBlob(r *rootdir.Root, kind store.Kind, prune bool, f func(dir safefs.Dir, location string, d key.Digest, info safefs.Info) error) error {
	top, err := r.Dir.OpenDir(rootdir.MetaDir + "/" + string(kind))
	if err != nil {
		return rootdir.IgnoreGone(err)
	}
	defer top.Close()
	names, err := rootdir.ListNames(top)
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
		err = eachInDir(dir, dirName, func(name string, d key.Digest, info safefs.Info) error {
			found = true
			return f(dir, rootdir.MetaDir+"/"+string(kind)+"/"+dirName+"/"+name, d, info)
		})
		made := !found && rootdir.JustMade(dir.Stat())
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

func eachInDir(dir safefs.Dir, dirName string, f func(name string, d key.Digest, info safefs.Info) error) error {
	names, err := rootdir.ListNames(dir)
	if err != nil {
		return err
	}
	for _, name := range names {
		d, err := key.ParseDigest(name)
		if err != nil || d.String() != name || name[:blobDigits] != dirName {
			continue
		}
		info, err := dir.Lstat(name)
		if err != nil || info.Kind != safefs.Regular {
			continue
		}
		if err := f(name, d, info); err != nil {
			return err
		}
	}
	return nil
}
