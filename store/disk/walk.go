package disk

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"syscall"
	"time"

	"github.com/kernstash/kernstash/internal/beneath"
)

// item is one number in a leaf directory: an entry, or what is left of one.
type item struct {
	n        uint32
	bin, src *beneath.Info // nil: no such name
}

// length is how long the files of an item are, usage what they take.
func (it *item) length() (n int64) {
	for _, info := range []*beneath.Info{it.bin, it.src} {
		if info != nil && info.Kind == beneath.Regular {
			n += info.Size
		}
	}
	return n
}

func (it *item) usage() usage { return fileUsage(it.bin, it.src) }

// walker visits every leaf directory below a root. What it does not know it
// passes over.
type walker struct {
	ctx context.Context

	// visit gets the items of a leaf, sorted by number. Its error ends the
	// walk.
	visit func(leaf beneath.Dir, names leafNames, items []item) error

	// entered, if not nil, is told of each directory at or below an image: those
	// that the account counts.
	entered func(names leafNames)

	// wanted, if not nil, reports whether a leaf is visited.
	wanted func(names leafNames) bool

	// rmdir, if not nil, is asked to remove each directory of ours after it
	// was walked and nothing was seen to be left in it. Level is that of its
	// name: 0 is a device. A directory that was made a moment ago and has had
	// nothing in it yet is a writer's, and stays.
	rmdir func(parent beneath.Dir, names leafNames, level int) error

	// passed, if not nil, is told what is in the place of a directory and is
	// none that can be read.
	passed func(location string, err error)

	// alone says, while visit runs, of each directory below the image whether it
	// was all there is in the one above.
	alone [4]bool

	// filled are the devices that had an image when they were listed.
	filled map[string]bool

	// partial is set where the medium failed: what was visited is not all.
	partial bool
}

func (w *walker) walk(d beneath.Dir) error {
	_, err := w.level(d.Each, d, leafNames{}, 0)
	return err
}

// level walks a directory, whose names each lists. full says that something is
// left in it, or that it is a writer's. It looks one name ahead, to know whether a
// name is alone.
func (w *walker) level(each func(func(name string) bool) error, d beneath.Dir, names leafNames, level int) (full bool, err error) {
	var stop error
	var foreign, several bool
	ahead := ""
	step := func(name string, alone bool) {
		if stop = w.ctx.Err(); stop != nil {
			return
		}
		names[level], w.alone[level] = name, alone
		left, err := w.child(d, names, level)
		full = full || left
		stop = err
	}
	err = each(func(name string) bool {
		if !isDirName(name) {
			foreign = true
			return w.ctx.Err() == nil
		}
		if ahead != "" {
			several = true
			step(ahead, false)
		}
		ahead = name
		return stop == nil
	})
	if ahead != "" && stop == nil && err == nil {
		step(ahead, !several && !foreign)
	}
	if stop == nil {
		stop = w.ctx.Err()
	}
	if ahead == "" && !foreign && w.rmdir != nil {
		full = justMade(d.Stat())
	}
	return full || foreign, errors.Join(stop, ignoreGone(err))
}

// freed is how many directories can go when an item of the leaf that is visited
// does: none while there are others.
func (w *walker) freed(items []item) int {
	if len(items) > 1 {
		return 0
	}
	n := 1
	for level := len(w.alone) - 1; level > 1 && w.alone[level]; level-- {
		n++
	}
	return n
}

func (w *walker) child(d beneath.Dir, names leafNames, level int) (full bool, err error) {
	if level == len(names)-1 && w.wanted != nil && !w.wanted(names) {
		return true, nil
	}
	sub, err := d.OpenDir(names[level])
	if err != nil {
		return w.passOver(names, level+1, err)
	}
	defer sub.Close()
	if w.entered != nil && level > 0 {
		w.entered(names)
	}
	if level == len(names)-1 {
		full, err = w.leaf(sub, names)
	} else {
		full, err = w.level(sub.EachOnce, sub, names, level+1)
	}
	if errors.Is(err, syscall.EIO) {
		return w.passOver(names, level+1, err)
	}
	if err == nil && !full && w.rmdir != nil {
		full = w.rmdir(d, names, level) != nil
	}
	return full, err
}

// passOver decides what a directory that cannot be read means. A file or a
// link is not ours, a bad sector must not end the walk; but descriptors or
// memory that ran out say nothing, and whoever took the rest for all would be
// wrong.
func (w *walker) passOver(names leafNames, levels int, err error) (full bool, _ error) {
	switch {
	case ignoreGone(err) == nil:
		return false, nil
	case errors.Is(err, syscall.ENOTDIR), errors.Is(err, syscall.ELOOP), errors.Is(err, syscall.EACCES):
	case errors.Is(err, syscall.EIO):
		w.partial = true
	default:
		return true, fmt.Errorf("walk %s: %w", leafPrefix(names, levels), err)
	}
	if w.passed != nil {
		w.passed(leafPrefix(names, levels), err)
	}
	return true, nil
}

func (w *walker) leaf(leaf beneath.Dir, names leafNames) (full bool, err error) {
	items, err := listItems(leaf)
	if err != nil {
		return true, err
	}
	if err := w.visit(leaf, names, items); err != nil {
		return true, err
	}
	if w.rmdir == nil || len(items) == 0 && justMade(leaf.Stat()) {
		return true, nil
	}
	err = leaf.Each(func(string) bool { full = true; return false })
	return full, ignoreGone(err)
}

// writerAge is how long a directory is taken for one that a writer has just made and
// is about to fill: whoever removes it sends the writer back to the start.
const writerAge = 10 * time.Second

// justMade reports whether an empty directory was made, or became empty, within
// writerAge. The file system's clock counts, not that of the store.
func justMade(empty beneath.Info, err error) bool {
	return err == nil && time.Since(time.Unix(0, empty.Mtime)).Abs() < writerAge
}

// listItems lists a leaf that was just opened.
func listItems(leaf beneath.Dir) ([]item, error) {
	byNumber := make(map[uint32]*item)
	var bad error
	err := leaf.EachOnce(func(name string) bool {
		n, suffix, ok := parseName(name)
		if !ok {
			return true
		}
		info, err := leaf.Lstat(name)
		if err != nil {
			bad = ignoreGone(err)
			return bad == nil
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
	return items, cmp.Or(bad, ignoreGone(err))
}

func ignoreGone(err error) error {
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ESTALE) {
		return nil
	}
	return err
}
