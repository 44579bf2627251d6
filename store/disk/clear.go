package disk

import (
	"context"
	"errors"

	"github.com/kernstash/kernstash/internal/format"
	"github.com/kernstash/kernstash/internal/safefs"
	"github.com/kernstash/kernstash/key"
	"github.com/kernstash/kernstash/store"
	"github.com/kernstash/kernstash/store/disk/internal/rootdir"
	"github.com/kernstash/kernstash/store/disk/internal/shared"
)

// Clear removes the entries that filter says, or with nil all of them, of
// whatever version; then empty directories. What is not ours stays, and so do
// statistics. With nil the header files that recipes named go too. progress, which may be
// nil, is called with the number of entries so far.
func (s *Store) Clear(ctx context.Context, filter func(store.Info) bool, progress func(done int64)) (Report, error) {
	l := lister{s: s, devices: make(map[key.Digest]key.Device)}
	return s.sweep(ctx, "clear", true, true, progress, func(w *sweep) error {
		err := w.items(true, func(leaf safefs.Dir, names rootdir.LeafNames, it *rootdir.Item) (gone, other bool) {
			var info store.Info
			if filter != nil && it.Bin != nil {
				info = l.info(leaf, names, it)
			}
			wanted := filter == nil || it.Bin != nil && filter(info)
			gone = wanted && clearable(it) && w.remove(leaf, names, it.N, true, func() bool { return true })
			return gone, errors.Is(info.Bad, format.ErrVersion)
		})
		if err != nil {
			return err
		}
		for _, kind := range shared.Kinds {
			if filter != nil {
				break
			}
			if err := w.collect(kind, false, func(shared.File, safefs.Info) bool { return true }); err != nil {
				return err
			}
		}
		return w.temporary(false)
	})
}

// clearable says whether an item is made of files: a directory that somebody
// gave one of our names stays.
func clearable(it *rootdir.Item) bool {
	return (it.Bin == nil || it.Bin.Kind != safefs.Directory) && (it.Src == nil || it.Src.Kind != safefs.Directory)
}
