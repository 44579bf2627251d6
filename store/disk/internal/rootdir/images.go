package rootdir

import (
	"encoding/hex"
	"errors"

	"github.com/kernstash/kernstash/internal/safefs"
	"github.com/kernstash/kernstash/store/disk/evict"
)

// MaxImages bounds how many image directories are listed at a time: 5 MiB.
const MaxImages = 1 << 18

// Images are the image directories of some shards, of all devices: listing a
// device once serves many shards.
type Images struct {
	Devices []string
	of      [evict.Shards][]image
	total   int
	partial bool // a device could not be read
}

type image struct {
	name   [dirDigits / 2]byte
	device uint32
}

// Images lists the image directories of the first shards of an order, as many of
// them as is reasonable to hold, and returns how many that are.
func (w *Walker) Images(root safefs.Dir, order []int, most int) (l *Images, fit int, err error) {
	l, fit = &Images{}, len(order)
	wanted := make(map[int]bool, fit)
	for _, shard := range order {
		wanted[shard] = true
	}
	var stop error
	if w.Filled == nil {
		w.Filled = make(map[string]bool)
	}
	err = root.Each(func(device string) bool {
		if !IsDirName(device) {
			return true
		}
		l.Devices = append(l.Devices, device)
		stop = w.device(root, device, func(name string) {
			w.Filled[device] = true
			img := image{device: uint32(len(l.Devices) - 1)}
			if _, err := hex.Decode(img.name[:], []byte(name)); err != nil || !wanted[int(img.name[0])] {
				return
			}
			shard := int(img.name[0])
			l.of[shard] = append(l.of[shard], img)
			for l.total++; l.total > most && fit > 1; {
				fit--
				last := order[fit]
				l.total -= len(l.of[last])
				l.of[last], wanted[last] = nil, false
			}
		})
		return stop == nil
	})
	l.partial, w.Partial = w.Partial, false
	return l, fit, errors.Join(stop, IgnoreGone(err))
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
	if err == nil {
		err = w.Ctx.Err()
	}
	if err == nil || w.Ctx.Err() != nil {
		return err
	}
	_, err = w.passOver(LeafNames{name}, 1, err)
	return err
}

// Shard walks the images of a shard. complete says that nothing of it was missed.
func (w *Walker) Shard(root safefs.Dir, l *Images, shard int) (complete bool, err error) {
	var d safefs.Dir
	at := -1
	defer func() {
		if d != (safefs.Dir{}) {
			d.Close()
		}
	}()
	w.Partial = l.partial
	for _, img := range l.of[shard] {
		if err := w.Ctx.Err(); err != nil {
			return false, err
		}
		names := LeafNames{l.Devices[img.device], hex.EncodeToString(img.name[:])}
		if at != int(img.device) {
			if d != (safefs.Dir{}) {
				d.Close()
			}
			at = int(img.device)
			if d, err = root.OpenDir(names[0]); err != nil {
				if _, err := w.passOver(names, 1, err); err != nil {
					return false, err
				}
			}
		}
		if d == (safefs.Dir{}) {
			continue // the device went meanwhile, and the image with it
		}
		if _, err := w.Child(d, names, 1); err != nil {
			return false, err
		}
	}
	return !w.Partial, w.Ctx.Err()
}
