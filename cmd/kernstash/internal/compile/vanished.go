//go:build unix

package compile

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/kernstash/kernstash/internal/ctime"
)

// A trace does not say whether a file was there that a program asked for. What is not there when the run has
// ended was not there before, if nobody else removed it: then its directory is as it was, or, where
// the run itself writes, had no such name.

// listing holds the names in directories, by their real paths.
type listing map[string]map[string]bool

// list lists directories; of one that is not there that in which it would be. Those that may not be read it leaves out.
func list(dirs ...string) (listing, error) {
	l := make(listing)
	for _, dir := range dirs {
		dir, _ = nearest(absolute(dir))
		real, err := filepath.EvalSymlinks(dir)
		if errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrPermission) || err == nil && l[real] != nil {
			continue
		}
		d, err := os.Open(real)
		if errors.Is(err, fs.ErrPermission) {
			continue
		} else if err != nil {
			return nil, err
		}
		names, err := d.Readdirnames(-1)
		d.Close()
		if err != nil {
			return nil, err
		}
		l[real] = make(map[string]bool, len(names))
		for _, name := range names {
			l[real][name] = true
		}
	}
	return l, nil
}

// vanished returns an error if one of the paths, which lead nowhere, may have led somewhere since the time
// began, when the listing was made.
func (l listing) vanished(paths []string, began time.Time) error {
	type place struct {
		real   string
		listed map[string]bool
		err    error
	}
	places := make(map[string]place) // many paths are in one directory
	for _, path := range paths {
		dir, name := nearest(path)
		p, known := places[dir]
		if !known {
			if p.real, p.err = filepath.EvalSymlinks(absolute(dir)); p.err == nil {
				if p.listed = l[p.real]; p.listed == nil {
					p.err = asItWas(p.real, began)
				}
			}
			places[dir] = p
		}
		if p.err != nil {
			return p.err
		}
		if p.listed[name] {
			return fmt.Errorf("%s went while it was compiled", path)
		}
	}
	return nil
}

// asItWas returns an error for a directory that may have changed since a time.
func asItWas(dir string, began time.Time) error {
	var s unix.Stat_t
	if err := unix.Stat(dir, &s); err != nil {
		return err
	}
	if !ctime.Before(began, dir, uint64(s.Dev), s.Mtim.Nano(), s.Ctim.Nano()) { //nolint:unconvert // other systems have other types
		return fmt.Errorf("%s changed while it was compiled", dir)
	}
	return nil
}

// nearest returns the directory next to a path that is there, the path itself maybe, and what the path names in it.
func nearest(path string) (dir, name string) {
	for dir = path; dir != "/"; {
		if _, err := os.Lstat(dir); err == nil {
			if info, err := os.Stat(dir); err != nil || info.IsDir() { // a link that leads nowhere, too
				break
			}
		}
		up := dir[:max(strings.LastIndexByte(dir, '/'), 0)]
		if up == "" {
			up = "/"
		}
		name, dir = strings.TrimPrefix(dir[len(up):], "/"), up
	}
	return dir, name
}
