package disk

import (
	"context"

	"github.com/kernstash/kernstash/internal/beneath"
	"github.com/kernstash/kernstash/key"
	"github.com/kernstash/kernstash/store"
)

// Clear removes the entries that filter says, or with nil all of them, of
// whatever version; then empty directories. What is not ours stays, and so do
// statistics.
func (s *Store) Clear(ctx context.Context, filter func(store.Info) bool) (Report, error) {
	l := lister{s: s, devices: make(map[key.Digest]key.Device)}
	return s.sweep(ctx, "clear", true, nil, func(w *sweep) error {
		walk := walker{ctx: ctx, rmdir: w.rmdir, visit: func(leaf beneath.Dir, names leafNames, items []item) error {
			for i := range items {
				it := &items[i]
				w.saw(it)
				wanted := filter == nil || it.bin != nil && filter(l.info(leaf, names, it))
				if wanted && clearable(it) {
					w.remove(leaf, names, it.n, true, func() bool { return true })
				}
			}
			return ctx.Err()
		}}
		if err := walk.walk(w.r.dir); err != nil {
			return err
		}
		w.recount()
		return w.temporary(false)
	})
}

// clearable says whether an item is made of files: a directory that somebody
// gave one of our names stays.
func clearable(it *item) bool {
	return (it.bin == nil || it.bin.Kind != beneath.Directory) && (it.src == nil || it.src.Kind != beneath.Directory)
}
