package shared

import (
	"fmt"
	"strings"
	"time"

	"github.com/kernstash/kernstash/internal/safefs"
	"github.com/kernstash/kernstash/spool"
	"github.com/kernstash/kernstash/store"
	"github.com/kernstash/kernstash/store/disk/evict"
	"github.com/kernstash/kernstash/store/disk/internal/rootdir"
)

// The spool is .meta/spool/<environment>/<job>: work that a worker is to do.
// This file knows names and files; package spool knows what they say.
const SpoolDir = "spool"

// isSpoolName says whether a file may be one of ours: "<32 digits>.<word>", and
// for a part of a job one word more, of lower-case letters and digits.
func isSpoolName(name string) bool {
	words := strings.Split(name, ".")
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

func SpoolPath(dir, name string) string {
	return rootdir.MetaDir + "/" + SpoolDir + "/" + dir + "/" + name
}

func CheckSpoolNames(dir, name string) error {
	if !rootdir.IsDirName(dir) || !isSpoolName(name) {
		return fmt.Errorf("%w: %q/%q names no file of the spool", store.ErrInvalid, dir, name)
	}
	return nil
}

// RemoveSpooled removes a file unless another one has its name by now. Where
// something is that is no file, it is removed too, unless it is a directory.
func RemoveSpooled(p *rootdir.Place, m *rootdir.Meta, d safefs.Dir, f spool.File) (gone bool, err error) {
	info, err := d.Lstat(f.Name)
	if err != nil || info.Mtime != f.Modified.UnixNano() || info.Ino != f.ID {
		return false, rootdir.IgnoreGone(err)
	}
	if err := d.Remove(f.Name); err != nil {
		return false, rootdir.IgnoreGone(err)
	}
	p.AccountAdd(m, evict.Shared, evict.Usage{}.Minus(rootdir.FileUsage(nil, &info)))
	return true, nil
}

func SpoolFile(dir, name string, info safefs.Info) spool.File {
	return spool.File{Dir: dir, Name: name, Size: info.Size, Modified: time.Unix(0, info.Mtime), ID: info.Ino}
}

// EachSpoolDir calls f for every directory of the spool with the names in it
// that may be ours, and then removes it if it is empty, if prune is set; not one
// that a writer has just made.
func EachSpoolDir(r *rootdir.Root, prune bool, f func(dirName string, d safefs.Dir, names []string) error) error {
	top, err := r.Dir.OpenDir(rootdir.MetaDir + "/" + SpoolDir)
	if err != nil {
		return rootdir.IgnoreGone(err)
	}
	defer top.Close()
	dirs, err := rootdir.ListNames(top)
	if err != nil {
		return err
	}
	for _, dirName := range dirs {
		if !rootdir.IsDirName(dirName) {
			continue
		}
		d, err := top.OpenDir(dirName)
		if err != nil {
			continue // not ours, or gone
		}
		names, err := rootdir.ListNames(d)
		made := len(names) == 0 && rootdir.JustMade(d.Stat())
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

// EachSpooled calls f for everything in the spool that has a name of ours,
// directories excepted.
func EachSpooled(r *rootdir.Root, prune bool, f func(d safefs.Dir, file spool.File) error) error {
	return EachSpoolDir(r, prune, func(dirName string, d safefs.Dir, names []string) error {
		for _, name := range names {
			info, err := d.Lstat(name)
			if err != nil || info.Kind == safefs.Directory {
				continue
			}
			file := SpoolFile(dirName, name, info)
			if info.Kind != safefs.Regular {
				file.Size = 0
			}
			if err := f(d, file); err != nil {
				return err
			}
		}
		return nil
	})
}
