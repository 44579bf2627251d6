package rootdir

import (
	"encoding/hex"
	"errors"

	"github.com/kernstash/kernstash/internal/safefs"
	"github.com/kernstash/kernstash/store/disk/evict"
)

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
