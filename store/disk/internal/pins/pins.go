// Package pins keeps the entries of some keys from eviction. A pin is a file in .meta/pins: its name are the directories of the
// key, its content is the key. It outlives its entry.
package pins

import (
	"errors"
	"io/fs"
	"strings"

	"github.com/kernstash/kernstash/store/disk/internal/rootdir"
)

const (
	dir     = "pins" // in .meta
	maxSize = 1 << 10
)

func name(l rootdir.LeafNames) string { return strings.Join(l[:], "") }

// Has reports whether the entries in a leaf directory are pinned; in doubt they are.
func Has(m *rootdir.Meta, l rootdir.LeafNames) bool {
	d, err := m.Dir.OpenDir(dir)
	if err != nil {
		return !errors.Is(err, fs.ErrNotExist)
	}
	defer d.Close()
	_, err = d.Lstat(name(l))
	return !errors.Is(err, fs.ErrNotExist)
}

// Set pins the entries in a leaf directory, or with no key takes the pin away. The caller has the directory's lock.
func Set(m *rootdir.Meta, l rootdir.LeafNames, key string, now int64) error {
	d, err := rootdir.EnsureDir(m.Dir, dir)
	if err != nil {
		return err
	}
	defer d.Close()
	if key == "" {
		if err := d.Remove(name(l)); !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		return nil
	}
	if err := d.Publish(m.Tmp, name(l), false, now, []byte(key)); !errors.Is(err, fs.ErrExist) {
		return err
	}
	return nil
}

// Each calls f with each pin: the path of its leaf directory, and its key.
func Each(p *rootdir.Place, m *rootdir.Meta, f func(path, key string)) error {
	d, err := m.Dir.OpenDir(dir)
	if err != nil {
		return rootdir.IgnoreGone(err)
	}
	defer d.Close()
	names, err := rootdir.ListNames(d)
	for _, n := range names {
		var l rootdir.LeafNames
		if len(n) != 32*len(l) {
			continue
		}
		for i := range l {
			l[i] = n[32*i : 32*(i+1)]
		}
		b, _, err := p.ReadFile(d, n, maxSize, nil)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		f(l.Path(), string(b))
	}
	return err
}
