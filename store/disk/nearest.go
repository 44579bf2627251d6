package disk

import (
	"context"
	"errors"
	"io/fs"
	"path"

	"github.com/kernstash/kernstash/internal/safefs"
	"github.com/kernstash/kernstash/key"
	"github.com/kernstash/kernstash/reason"
	"github.com/kernstash/kernstash/store"
	"github.com/kernstash/kernstash/store/disk/internal/compare"
	"github.com/kernstash/kernstash/store/disk/internal/rootdir"
)

// A search for the nearest entry looks at no more than this: it explains a
// miss, which costs a build anyway, but a crowded root must not make it slow.
const (
	maxNearDirs   = 64      // directories looked into at each level
	maxNearRead   = 8       // recipes read for one component
	maxNearRecipe = 4 << 20 // bytes of a recipe
)

// Nearest explains a miss; see [store.Explainer]. Options are tried first, then
// constants, the device, the image; an image is near if only headers differ, or if
// most of its code is the same. An entry of the previous digest is looked at first.
func (s *Store) Nearest(ctx context.Context, rec *key.Recipe, previous key.Digest) (store.Difference, error) {
	none := store.Difference{Reason: reason.NearestNothing, Text: "nothing near it"}
	r, err := s.at.Acquire(false)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return none, nil
	case err != nil:
		return none, err
	}
	defer r.Release()
	names := s.at.Names(rec.Key())
	if previous != (key.Digest{}) {
		if d, found := s.compareImage(r.Dir, names, previous, rec); found {
			return d, nil
		}
	}
	for _, component := range []int{componentOptions, componentConstants, componentDevice, componentImage} {
		if err := ctx.Err(); err != nil {
			return none, err
		}
		if d, found := s.nearestIn(r.Dir, names, component, rec); found {
			return d, nil
		}
	}
	return none, nil
}

// The components, by the level of their directory.
const (
	componentDevice = iota
	componentImage
	componentConstants
	componentOptions
)

// compareImage compares a request with the entry that has another image and all
// else the same.
func (s *Store) compareImage(root safefs.Dir, names rootdir.LeafNames, image key.Digest, rec *key.Recipe) (store.Difference, bool) {
	names[componentImage] = image.Dir()
	path := names.File(rootdir.SrcName(0))
	other, _, err := s.at.ReadRecipe(root, path, maxNearRecipe)
	if err != nil {
		return store.Difference{}, false
	}
	d, near := compare.Recipes(rec, other)
	return d, near && s.hits(root, path, d.Key)
}

// nearestIn tries other directories in the place of one of the four.
func (s *Store) nearestIn(root safefs.Dir, names rootdir.LeafNames, component int, rec *key.Recipe) (store.Difference, bool) {
	dir := root
	if component > 0 {
		var err error
		if dir, err = root.OpenDir(rootdir.LeafPrefix(names, component)); err != nil {
			return store.Difference{}, false
		}
		defer dir.Close()
	}
	var best store.Difference
	found := false
	dirs, read := 0, 0
	_ = dir.Each(func(name string) bool {
		if !rootdir.IsDirName(name) || name == names[component] {
			return true
		}
		dirs++
		below := path.Join(name, path.Join(names[component+1:]...), rootdir.SrcName(0))
		other, _, err := s.at.ReadRecipe(dir, below, maxNearRecipe)
		if err == nil {
			read++
			if d, near := compare.Recipes(rec, other); near && s.hits(dir, below, d.Key) {
				best, found = d, true
			}
		}
		return !found && dirs < maxNearDirs && read < maxNearRead
	})
	return best, found
}

// hits says whether the .bin beside a recipe is there and of this key.
func (s *Store) hits(d safefs.Dir, src string, k key.Key) bool {
	f, info, err := s.at.OpenBin(d, src[:len(src)-len(rootdir.SrcSuffix)]+rootdir.BinSuffix)
	if err != nil {
		return false
	}
	defer f.Close()
	h, err := rootdir.ReadHeader(f, info)
	return err == nil && h.Key == k
}
