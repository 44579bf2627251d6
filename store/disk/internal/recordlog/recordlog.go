// Package recordlog holds what processes leave about requests, in .meta/records. It is appended to one file, under a lock that is
// held for microseconds. When the file is full, and when somebody reads records, it gets a name of its own, under which it is never
// written again.
package recordlog

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/kernstash/kernstash/internal/records"
	"github.com/kernstash/kernstash/internal/safefs"
	"github.com/kernstash/kernstash/store"
	"github.com/kernstash/kernstash/store/disk/internal/rootdir"
)

// Full is the size, in bytes, from which on a file is full, Most how many full ones are kept until somebody reads them.
const (
	Full = 1 << 20
	Most = 8
)

const (
	dir  = "records" // in .meta
	wait = 25 * time.Millisecond
)

var (
	suffix  = "." + strconv.Itoa(records.Version)
	current = "current" + suffix
)

// Append appends lines.
func Append(m *rootdir.Meta, lines []byte) error {
	unlock, err := m.LockRecords(context.Background(), wait)
	if err != nil {
		return err
	}
	defer unlock()
	for range 2 {
		f, info, err := m.Dir.OpenWrite(dir + "/" + current)
		if errors.Is(err, fs.ErrNotExist) {
			f, err = create(m)
			info = safefs.Info{Kind: safefs.Regular}
		}
		if err != nil {
			return err
		}
		err = rootdir.ErrIrregular
		full := info.Kind == safefs.Regular && info.Size > 0 && info.Size+int64(len(lines)) > Full
		if info.Kind == safefs.Regular && !full {
			if err = f.WriteAt(lines, info.Size); err != nil {
				err = fmt.Errorf("%w: %w", records.ErrTorn, err)
			}
		}
		f.Close()
		if !full {
			return err
		}
		if err := end(m, true); err != nil {
			return err
		}
	}
	return rootdir.ErrIrregular
}

func create(m *rootdir.Meta) (f safefs.File, err error) {
	d, err := rootdir.EnsureDir(m.Dir, dir)
	if err != nil {
		return f, err
	}
	defer d.Close()
	return d.Create(current)
}

// end gives the current file a name of its own. bounded removes files that nobody has read, where there
// are too many. The caller holds the lock.
func end(m *rootdir.Meta, bounded bool) error {
	d, err := m.Dir.OpenDir(dir)
	if err != nil {
		return err
	}
	defer d.Close()
	if bounded {
		names, err := ended(d)
		if err != nil {
			return err
		}
		for _, name := range names[:max(0, len(names)-Most+1)] {
			_ = d.Remove(name)
		}
	}
	return d.Rename(current, d, fmt.Sprintf("%016x%s", time.Now().UnixNano(), suffix))
}

// ended returns the names of files that are not written any more, the oldest first: a name is the time at
// which it was given.
func ended(d safefs.Dir) ([]string, error) {
	all, err := rootdir.ListNames(d)
	var names []string
	for _, name := range all {
		digits, ours := strings.CutSuffix(name, suffix)
		if _, err := hex.DecodeString(digits); ours && err == nil && len(digits) == 16 {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names, err
}

// Take calls f with each file, and removes those for which it returns nil. A file that was not removed then comes again, by
// the same name. It waits for nobody for long.
func Take(ctx context.Context, at *rootdir.Place, m *rootdir.Meta, f func(name string, b []byte) error) error {
	d, err := m.Dir.OpenDir(dir)
	if err != nil {
		return err
	}
	defer d.Close()
	if info, err := d.Lstat(current); err == nil && info.Size > 0 {
		unlock, err := m.LockRecords(ctx, wait)
		if err != nil {
			return err
		}
		err = end(m, false)
		unlock()
		if err != nil {
			return err
		}
	}
	names, err := ended(d)
	for _, name := range names {
		b, _, err := at.ReadFile(d, name, 4*Full, nil)
		if errors.Is(err, store.ErrTooLarge) { // none of ours
			_ = d.Remove(name)
		}
		if err != nil {
			continue
		}
		if err := f(name, b); err != nil {
			return err
		}
		_ = d.Remove(name)
	}
	return err
}

// Look calls f with each file, the oldest first, until it returns false. The last one is still written, and has no name yet.
func Look(at *rootdir.Place, r *rootdir.Root, f func(name string, b []byte) bool) error {
	d, err := r.Dir.OpenDir(rootdir.MetaDir + "/" + dir)
	if err != nil {
		return err
	}
	defer d.Close()
	names, err := ended(d)
	for _, name := range append(names, current) {
		b, _, err := at.ReadFile(d, name, 4*Full, nil)
		if err != nil {
			continue
		}
		if !f(strings.TrimPrefix(name, current), b) {
			break
		}
	}
	return err
}

// Any reports whether there is anything.
func Any(r *rootdir.Root) (any bool, err error) {
	d, err := r.Dir.OpenDir(rootdir.MetaDir + "/" + dir)
	if err != nil {
		return false, err
	}
	defer d.Close()
	err = d.Each(func(string) bool { any = true; return false })
	return any, err
}
