package disk

import (
	"encoding/hex"
	"errors"

	"github.com/kernstash/kernstash/internal/beneath"
	"github.com/kernstash/kernstash/store/disk/evict"
)

// maxImages bounds how many image directories are listed at a time: 5 MiB.
const maxImages = 1 << 18

// images are the image directories of some shards, of all devices: listing a
// device once serves many shards.
type images struct {
	devices []string
	of      [evict.Shards][]image
	total   int
	partial bool // a device could not be read
}

type image struct {
	name   [dirDigits / 2]byte
	device uint32
}

// images lists the image directories of the first shards of an order, as many of
// them as is reasonable to hold, and returns how many that are.
func (w *walker) images(root beneath.Dir, order []int, most int) (l *images, fit int, err error) {
	l, fit = &images{}, len(order)
	wanted := make(map[int]bool, fit)
	for _, shard := range order {
		wanted[shard] = true
	}
	var stop error
	if w.filled == nil {
		w.filled = make(map[string]bool)
	}
	err = root.Each(func(device string) bool {
		if !isDirName(device) {
			return true
		}
		l.devices = append(l.devices, device)
		stop = w.device(root, device, func(name string) {
			w.filled[device] = true
			img := image{device: uint32(len(l.devices) - 1)}
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
	l.partial, w.partial = w.partial, false
	return l, fit, errors.Join(stop, ignoreGone(err))
}

// device calls f with the names of a device's image directories.
func (w *walker) device(root beneath.Dir, name string, f func(name string)) error {
	d, err := root.OpenDir(name)
	if err == nil {
		defer d.Close()
		err = d.Each(func(name string) bool {
			if isDirName(name) {
				f(name)
			}
			return w.ctx.Err() == nil
		})
	}
	if err == nil {
		err = w.ctx.Err()
	}
	if err == nil || w.ctx.Err() != nil {
		return err
	}
	_, err = w.passOver(leafNames{name}, 1, err)
	return err
}

// shard walks the images of a shard. complete says that nothing of it was missed.
func (w *walker) shard(root beneath.Dir, l *images, shard int) (complete bool, err error) {
	var d beneath.Dir
	at := -1
	defer func() {
		if d != (beneath.Dir{}) {
			d.Close()
		}
	}()
	w.partial = l.partial
	for _, img := range l.of[shard] {
		if err := w.ctx.Err(); err != nil {
			return false, err
		}
		names := leafNames{l.devices[img.device], hex.EncodeToString(img.name[:])}
		if at != int(img.device) {
			if d != (beneath.Dir{}) {
				d.Close()
			}
			at = int(img.device)
			if d, err = root.OpenDir(names[0]); err != nil {
				if _, err := w.passOver(names, 1, err); err != nil {
					return false, err
				}
			}
		}
		if d == (beneath.Dir{}) {
			continue // the device went meanwhile, and the image with it
		}
		if _, err := w.child(d, names, 1); err != nil {
			return false, err
		}
	}
	return !w.partial, w.ctx.Err()
}
