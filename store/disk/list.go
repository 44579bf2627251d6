package disk

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/kernstash/kernstash/internal/format"
	"github.com/kernstash/kernstash/internal/records"
	"github.com/kernstash/kernstash/internal/safefs"
	"github.com/kernstash/kernstash/key"
	"github.com/kernstash/kernstash/store"
	"github.com/kernstash/kernstash/store/disk/internal/rootdir"
)

// maxListedRecipe is the largest recipe that is read for the device that it
// names; there is usually a smaller one of the same device.
const maxListedRecipe = 16 << 20

// List yields every entry; see [store.Store]. It reads and checks headers, and
// for each device one recipe, but no code: Verify does.
func (s *Store) List(ctx context.Context) iter.Seq2[store.Info, error] {
	return func(yield func(store.Info, error) bool) {
		if err := s.list(ctx, yield); err != nil {
			yield(store.Info{}, fmt.Errorf("list %s: %w", s.o.Dir, err))
		}
	}
}

var errStop = errors.New("no more wanted")

func (s *Store) list(ctx context.Context, yield func(store.Info, error) bool) error {
	l := lister{s: s, devices: make(map[key.Digest]key.Device)}
	w := rootdir.Walker{Ctx: ctx, Visit: func(leaf safefs.Dir, names rootdir.LeafNames, items []rootdir.Item) error {
		for i := range items {
			if items[i].Bin != nil && !yield(l.info(leaf, names, &items[i]), nil) {
				return errStop
			}
		}
		return nil
	}}
	err := s.at.Look(ctx, func(r *rootdir.Root) error { return w.Walk(r.Dir) })
	if errors.Is(err, errStop) || errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// lister makes descriptions of entries.
type lister struct {
	s       *Store
	devices map[key.Digest]key.Device // those that are known by now
}

func (l *lister) info(leaf safefs.Dir, names rootdir.LeafNames, it *rootdir.Item) store.Info {
	info := store.Info{
		Size:     it.Length(),
		Accessed: time.Unix(0, it.Bin.Mtime),
		Location: path.Join(names.Path(), rootdir.BinName(it.N)),
	}
	h, err := l.s.header(leaf, names, it.N)
	if h != nil {
		info.Key, info.Created, info.Cost = h.Key, h.Created, h.Cost
		for _, k := range h.Kernels {
			info.Kernels = append(info.Kernels, k.Name)
		}
		info.Device = l.device(leaf, it, h.Key.Device)
	}
	if err != nil {
		info.Bad = rootdir.WrapPath(info.Location, err)
	}
	return info
}

// header reads the header of an entry without its code, and says with it whether the
// entry is where its key belongs.
func (s *Store) header(leaf safefs.Dir, names rootdir.LeafNames, n uint32) (*format.Header, error) {
	h, err := s.at.Header(leaf, rootdir.BinName(n))
	if err == nil && s.at.Names(h.Key) != names {
		err = rootdir.ErrMisplaced
	}
	return h, err
}

// device returns the device of an entry. Entries of one device name the same,
// so one recipe for each is read.
func (l *lister) device(leaf safefs.Dir, it *rootdir.Item, digest key.Digest) key.Device {
	if d, known := l.devices[digest]; known || it.Src == nil {
		return d
	}
	rec, err := l.s.at.ReadRecipe(leaf, rootdir.SrcName(it.N), maxListedRecipe)
	if err != nil || rec.Device.Digest() != digest {
		return key.Device{}
	}
	l.devices[digest] = rec.Device
	return rec.Device
}

// Older is what a root holds of older versions of kernstash, whose entries are misses
// for this one.
type Older struct {
	Entries int64
	Bytes   int64 // what they take
	All     bool  // every entry was looked at; else there may be more
}

// maxOlder is how many entries Older looks at, and leastOlder of each device: those of
// one device are often of one version.
const (
	maxOlder   = 256
	leastOlder = 16
)

// Older looks for entries of older formats and key schemas. It looks at some
// entries of each device, so it takes no longer in a large root. The end of ctx
// ends it early, and is no error.
func (s *Store) Older(ctx context.Context) (Older, error) {
	o := Older{All: true}
	err := s.at.Look(ctx, func(r *rootdir.Root) (err error) {
		o, err = s.older(ctx, r.Dir)
		return err
	})
	if ctx.Err() != nil {
		o.All, err = false, nil
	}
	return o, rootdir.IgnoreGone(err)
}

func (s *Store) older(ctx context.Context, root safefs.Dir) (o Older, err error) {
	o.All = true
	devices, err := rootdir.ListNames(root)
	devices = slices.DeleteFunc(devices, func(name string) bool { return !rootdir.IsDirName(name) })
	for _, device := range devices {
		most := max(maxOlder/len(devices), leastOlder)
		w := rootdir.Walker{Ctx: ctx, Visit: func(leaf safefs.Dir, names rootdir.LeafNames, items []rootdir.Item) error {
			for i := range items {
				it := &items[i]
				if it.Bin == nil {
					continue
				}
				if most--; most < 0 {
					return errStop
				}
				if _, err := s.header(leaf, names, it.N); s.isOlder(leaf, it.N, err) {
					o.Entries++
					o.Bytes += it.Usage().Bytes
				}
			}
			return nil
		}}
		_, err := w.Child(root, rootdir.LeafNames{device}, 0)
		o.All = o.All && !w.Partial && !errors.Is(err, errStop)
		if err != nil && !errors.Is(err, errStop) {
			return o, err
		}
	}
	return o, err
}

// isOlder reports whether an entry is of an older version. err is what header says of
// it: the recipe alone tells the key schema.
func (s *Store) isOlder(leaf safefs.Dir, n uint32, err error) bool {
	if err != nil {
		return errors.Is(err, format.ErrOlder)
	}
	f, info, err := s.at.OpenBin(leaf, rootdir.SrcName(n))
	if err != nil {
		return false
	}
	defer f.Close()
	b := make([]byte, min(info.Size, format.SrcStart))
	_, err = f.ReadAt(b, 0)
	return err == nil && format.OlderSrc(b)
}

// ListAt yields the entries at places; see [Store.List]. Where there is none it yields what is Bad for store.ErrNotFound, with
// the place as Location.
func (s *Store) ListAt(ctx context.Context, places iter.Seq[records.Place]) iter.Seq2[store.Info, error] {
	return func(yield func(store.Info, error) bool) {
		l := lister{s: s, devices: make(map[key.Digest]key.Device)}
		err := s.at.Look(ctx, func(r *rootdir.Root) error {
			for p := range places {
				if err := ctx.Err(); err != nil {
					return err
				}
				infos := l.at(r, p)
				if len(infos) == 0 {
					infos = append(infos, store.Info{Location: p.Path(), Bad: store.ErrNotFound})
				}
				for _, info := range infos {
					if !yield(info, nil) {
						return errStop
					}
				}
			}
			return nil
		})
		if err != nil && !errors.Is(err, errStop) && !errors.Is(err, fs.ErrNotExist) {
			yield(store.Info{}, fmt.Errorf("list %s: %w", s.o.Dir, err))
		}
	}
}

// leafNames returns the directories of a path.
func leafNames(path string) (names rootdir.LeafNames) {
	copy(names[:], strings.Split(path, "/"))
	return names
}

func (l *lister) at(r *rootdir.Root, p records.Place) (infos []store.Info) {
	_ = itemsAt(r, p, func(leaf safefs.Dir, names rootdir.LeafNames, it *rootdir.Item) error {
		infos = append(infos, l.info(leaf, names, it))
		return nil
	})
	return infos
}

// itemsAt calls f with each entry at a place, until it fails.
func itemsAt(r *rootdir.Root, p records.Place, f func(leaf safefs.Dir, names rootdir.LeafNames, it *rootdir.Item) error) error {
	names := leafNames(p.Path())
	leaf, err := r.Dir.OpenDir(names.Path())
	if err != nil {
		return nil
	}
	defer leaf.Close()
	numbers, _, _ := rootdir.Numbers(leaf)
	for _, n := range numbers {
		it := rootdir.Item{N: n, Bin: rootdir.Stat(leaf, rootdir.BinName(n)), Src: rootdir.Stat(leaf, rootdir.SrcName(n))}
		if it.Bin == nil {
			continue
		}
		if err := f(leaf, names, &it); err != nil {
			return err
		}
	}
	return nil
}
