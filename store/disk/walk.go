package disk

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"slices"

	"github.com/kernstash/kernstash/internal/beneath"
)

// item is one number in a leaf directory: an entry, or what is left of one.
type item struct {
	n        uint32
	bin, src *beneath.Info // nil: no such name
}

// usage returns what the account holds of an item.
func (it *item) usage() usage {
	var u usage
	if it.bin != nil && it.bin.Kind == beneath.Regular {
		u.bytes, u.entries = it.bin.Size, 1
	}
	if it.src != nil && it.src.Kind == beneath.Regular {
		u.bytes += it.src.Size
	}
	return u
}

// walker visits every leaf directory below a root. What it does not know it
// passes over.
type walker struct {
	ctx context.Context

	// visit gets the items of a leaf, sorted by number. Its error ends the
	// walk.
	visit func(leaf beneath.Dir, names leafNames, items []item) error

	// rmdir, if not nil, is asked to remove each directory of ours after it
	// was walked and nothing was seen to be left in it.
	rmdir func(parent beneath.Dir, name string) error
}

func (w *walker) walk(d beneath.Dir) error {
	_, err := w.level(d, leafNames{}, 0)
	return err
}

// level walks a directory. full says that something is left in it.
func (w *walker) level(d beneath.Dir, names leafNames, level int) (full bool, err error) {
	var stop error
	err = d.Each(func(name string) bool {
		if stop = w.ctx.Err(); stop != nil {
			return false
		}
		if !isDirName(name) {
			full = true
			return true
		}
		names[level] = name
		left, err := w.child(d, names, level)
		full = full || left
		stop = err
		return err == nil
	})
	return full, errors.Join(stop, ignoreGone(err))
}

func (w *walker) child(d beneath.Dir, names leafNames, level int) (full bool, err error) {
	sub, err := d.OpenDir(names[level])
	if err != nil {
		return !errors.Is(err, fs.ErrNotExist), nil // a file, a link: not ours
	}
	defer sub.Close()
	if level == len(names)-1 {
		full, err = w.leaf(sub, names)
	} else {
		full, err = w.level(sub, names, level+1)
	}
	if err == nil && !full && w.rmdir != nil {
		full = w.rmdir(d, names[level]) != nil
	}
	return full, err
}

func (w *walker) leaf(leaf beneath.Dir, names leafNames) (full bool, err error) {
	items, err := listItems(leaf)
	if err != nil {
		return true, err
	}
	if err := w.visit(leaf, names, items); err != nil {
		return true, err
	}
	if w.rmdir == nil {
		return true, nil
	}
	err = leaf.Each(func(string) bool { full = true; return false })
	return full, ignoreGone(err)
}

func listItems(leaf beneath.Dir) ([]item, error) {
	byNumber := make(map[uint32]*item)
	err := leaf.Each(func(name string) bool {
		n, suffix, ok := parseName(name)
		if !ok {
			return true
		}
		info, err := leaf.Lstat(name)
		if err != nil {
			return true
		}
		it := byNumber[n]
		if it == nil {
			it = &item{n: n}
			byNumber[n] = it
		}
		if suffix == binSuffix {
			it.bin = &info
		} else {
			it.src = &info
		}
		return true
	})
	items := make([]item, 0, len(byNumber))
	for _, it := range byNumber {
		items = append(items, *it)
	}
	slices.SortFunc(items, func(a, b item) int { return cmp.Compare(a.n, b.n) })
	return items, ignoreGone(err)
}

func ignoreGone(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}
