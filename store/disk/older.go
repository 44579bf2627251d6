package disk

import (
	"context"
	"errors"
	"io/fs"
	"slices"

	"github.com/kernstash/kernstash/internal/format"
	"github.com/kernstash/kernstash/internal/safefs"
	"github.com/kernstash/kernstash/store/disk/internal/rootdir"
)

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
	switch {
	case ctx.Err() != nil:
		o.All = false
		return o, nil
	case errors.Is(err, fs.ErrNotExist):
		return o, nil
	}
	return o, err
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
