package rootdir

import (
	"cmp"
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"syscall"
	"time"

	"github.com/kernstash/kernstash/internal/safefs"
	"github.com/kernstash/kernstash/store/disk/evict"
)

// Item is one number in a leaf directory: an entry, or what is left of one.
type Item struct {
	N        uint32
	Bin, Src *safefs.Info // nil: no such name
}

// Length is how long the files of an item are, usage what they take.
func (it *Item) Length() (n int64) {
	for _, info := range []*safefs.Info{it.Bin, it.Src} {
		if info != nil && info.Kind == safefs.Regular {
			n += info.Size
		}
	}
	return n
}

func (it *Item) Usage() evict.Usage { return FileUsage(it.Bin, it.Src) }

// Walker visits every leaf directory below a root. What it does not know it passes over.
type Walker struct {
	Ctx context.Context

	// Visit gets the items of a leaf, sorted by number. Its error ends the walk.
	Visit func(leaf safefs.Dir, names LeafNames, items []Item) error

	// Entered, if not nil, is told of each directory at or below an image: those
	// that the account counts.
	Entered func(names LeafNames)

	// Count has Images counted before they are listed: a list that grows takes as much again
	// meanwhile, and one of a million images is most of the memory of who sweeps.
	Count bool

	// Wanted, if not nil, reports whether a leaf is visited.
	Wanted func(names LeafNames) bool

	// Rmdir, if not nil, is asked to remove each directory of ours after it
	// was walked and nothing was seen to be left in it. Level is that of its
	// name: 0 is a device. A directory that was made a moment ago and has had
	// nothing in it yet is a writer's, and stays.
	Rmdir func(parent safefs.Dir, names LeafNames, level int) error

	// Passed, if not nil, is told what is in the place of a directory and is
	// none that can be read.
	Passed func(location string, err error)

	Partial bool // the medium failed: what was visited is not all

	// alone says, while visit runs, of each directory below the image whether it
	// was all there is in the one above.
	alone [4]bool
}

func (w *Walker) Walk(d safefs.Dir) error {
	_, err := w.level(d, LeafNames{}, 0)
	return err
}

// level walks a directory. full says that something is left in it, or that it is a
// writer's. It looks one name ahead, to know whether a name is alone.
func (w *Walker) level(d safefs.Dir, names LeafNames, level int) (full bool, err error) {
	var stop error
	var foreign, several bool
	ahead := ""
	step := func(name string, alone bool) {
		if stop = w.Ctx.Err(); stop != nil {
			return
		}
		names[level], w.alone[level] = name, alone
		left, err := w.Child(d, names, level)
		full = full || left
		stop = err
	}
	err = d.Each(func(name string) bool {
		if !IsDirName(name) {
			foreign = true
			return w.Ctx.Err() == nil
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
	stop = cmp.Or(stop, w.Ctx.Err())
	if ahead == "" && !foreign && w.Rmdir != nil {
		full = JustMade(d.Stat())
	}
	return full || foreign, errors.Join(stop, IgnoreGone(err))
}

// Freed is how many directories can go when an item of the leaf that is visited
// does: none while there are others.
func (w *Walker) Freed(items []Item) int {
	if len(items) > 1 {
		return 0
	}
	n := 1
	for level := len(w.alone) - 1; level > 1 && w.alone[level]; level-- {
		n++
	}
	return n
}

func (w *Walker) Child(d safefs.Dir, names LeafNames, level int) (full bool, err error) {
	if level == len(names)-1 && w.Wanted != nil && !w.Wanted(names) {
		return true, nil
	}
	sub, err := d.OpenDir(names[level])
	if err != nil {
		return w.passOver(names, level+1, err)
	}
	defer sub.Close()
	if w.Entered != nil && level > 0 {
		w.Entered(names)
	}
	if level == len(names)-1 {
		full, err = w.leaf(sub, names)
	} else {
		full, err = w.level(sub, names, level+1)
	}
	if errors.Is(err, syscall.EIO) {
		return w.passOver(names, level+1, err)
	}
	if err == nil && !full && w.Rmdir != nil {
		full = w.Rmdir(d, names, level) != nil
	}
	return full, err
}

// passOver decides what a directory that cannot be read means. A file or a link is not
// ours, a bad sector must not end the walk; but descriptors or memory that ran out say
// nothing, and whoever took the rest for all would be wrong.
func (w *Walker) passOver(names LeafNames, levels int, err error) (full bool, _ error) {
	switch {
	case IgnoreGone(err) == nil:
		return false, nil
	case errors.Is(err, syscall.ENOTDIR), errors.Is(err, syscall.ELOOP), errors.Is(err, syscall.EACCES):
	case errors.Is(err, syscall.EIO):
		w.Partial = true
	default:
		return true, fmt.Errorf("walk %s: %w", LeafPrefix(names, levels), err)
	}
	if w.Passed != nil {
		w.Passed(LeafPrefix(names, levels), err)
	}
	return true, nil
}

func (w *Walker) leaf(leaf safefs.Dir, names LeafNames) (full bool, err error) {
	items, err := listItems(leaf)
	if err != nil {
		return true, err
	}
	if err := w.Visit(leaf, names, items); err != nil {
		return true, err
	}
	if w.Rmdir == nil || len(items) == 0 && JustMade(leaf.Stat()) {
		return true, nil
	}
	err = leaf.Each(func(string) bool { full = true; return false })
	return full, IgnoreGone(err)
}

// writerAge is how long a directory is taken for one that a writer has just made and
// is about to fill: whoever removes it sends the writer back to the start.
const writerAge = 10 * time.Second

// JustMade reports whether an empty directory was made, or became empty, within
// writerAge. The file system's clock counts, not that of the store.
func JustMade(empty safefs.Info, err error) bool {
	return err == nil && time.Since(time.Unix(0, empty.Mtime)).Abs() < writerAge
}

func listItems(leaf safefs.Dir) ([]Item, error) {
	byNumber := make(map[uint32]Item)
	var bad error
	err := leaf.Each(func(name string) bool {
		n, suffix, ok := parseName(name)
		if !ok {
			return true
		}
		info, err := leaf.Lstat(name)
		if err != nil {
			bad = IgnoreGone(err)
			return bad == nil
		}
		it := byNumber[n]
		it.N = n
		if suffix == binSuffix {
			it.Bin = &info
		} else {
			it.Src = &info
		}
		byNumber[n] = it
		return true
	})
	items := slices.SortedFunc(maps.Values(byNumber), func(a, b Item) int { return cmp.Compare(a.N, b.N) })
	return items, cmp.Or(bad, IgnoreGone(err))
}

func IgnoreGone(err error) error {
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ESTALE) {
		return nil
	}
	return err
}

// Images are the image directories of some shards, of all devices: listing a
// device once serves many shards. An image takes twenty bytes.
type Images struct {
	Devices []string
	Filled  map[string]bool // the devices that had an image
	of      [evict.Shards][]image
	partial bool // a device could not be read
}

type image struct {
	name   [dirDigits / 2]byte
	device uint32
}

// Images lists the image directories of shards.
func (w *Walker) Images(root safefs.Dir, shards []int) (*Images, error) {
	l := &Images{Filled: make(map[string]bool)}
	var wanted [evict.Shards]bool
	for _, shard := range shards {
		wanted[shard] = true
	}
	if w.Count {
		l.reserve(w.Ctx, root, &wanted)
	}
	var stop error
	err := root.Each(func(device string) bool {
		if !IsDirName(device) {
			return true
		}
		l.Devices = append(l.Devices, device)
		stop = w.device(root, device, func(name string) {
			l.Filled[device] = true
			img := image{device: uint32(len(l.Devices) - 1)}
			if _, err := hex.Decode(img.name[:], []byte(name)); err == nil && wanted[img.name[0]] {
				l.of[img.name[0]] = append(l.of[img.name[0]], img)
			}
		})
		return stop == nil
	})
	l.partial, w.Partial = w.Partial, false
	return l, errors.Join(stop, IgnoreGone(err))
}

// reserve makes room for the images that are wanted. What cannot be read is told of when it is listed.
func (l *Images) reserve(ctx context.Context, root safefs.Dir, wanted *[evict.Shards]bool) {
	var counts [evict.Shards]int
	w := Walker{Ctx: ctx}
	_ = root.Each(func(device string) bool {
		return !IsDirName(device) || w.device(root, device, func(name string) { counts[evict.ShardOf(name)]++ }) == nil
	})
	for shard, n := range counts {
		if wanted[shard] {
			l.of[shard] = make([]image, 0, n)
		}
	}
}

// device calls f with the names of a device's image directories.
func (w *Walker) device(root safefs.Dir, name string, f func(name string)) error {
	d, err := root.OpenDir(name)
	if err == nil {
		defer d.Close()
		err = d.Each(func(name string) bool {
			if IsDirName(name) {
				f(name)
			}
			return w.Ctx.Err() == nil
		})
	}
	if stop := w.Ctx.Err(); err == nil || stop != nil {
		return stop
	}
	_, err = w.passOver(LeafNames{name}, 1, err)
	return err
}

// Shard walks the images of a shard. complete says that nothing of it was missed.
func (w *Walker) Shard(root safefs.Dir, l *Images, shard int) (complete bool, err error) {
	w.Partial = l.partial
	for _, img := range l.of[shard] {
		if err := w.Ctx.Err(); err != nil {
			return false, err
		}
		if err := w.image(root, LeafNames{l.Devices[img.device], hex.EncodeToString(img.name[:])}); err != nil {
			return false, err
		}
	}
	return !w.Partial, w.Ctx.Err()
}

func (w *Walker) image(root safefs.Dir, names LeafNames) error {
	d, err := root.OpenDir(names[0])
	if err != nil {
		_, err = w.passOver(names, 1, err)
		return err
	}
	defer d.Close()
	_, err = w.Child(d, names, 1)
	return err
}
