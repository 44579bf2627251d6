package disk

import (
	"context"
	"path"
	"strings"
	"time"

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
	d := store.Difference{Reason: reason.NearestNothing, Text: store.NothingNear}
	err := s.at.Look(ctx, func(r *rootdir.Root) error {
		near, found := s.nearest(ctx, r.Dir, rec, previous)
		if found && ctx.Err() == nil {
			d = near
		}
		return ctx.Err()
	})
	return d, rootdir.IgnoreGone(err)
}

func (s *Store) nearest(ctx context.Context, root safefs.Dir, rec *key.Recipe, previous key.Digest) (d store.Difference, found bool) {
	names := s.at.Names(rec.Key())
	if previous != (key.Digest{}) {
		at := names
		at[componentImage] = previous.Dir()
		d, _, found = s.compareWith(root, at.File(rootdir.SrcName(0)), rec)
	}
	for _, component := range []int{componentOptions, componentConstants, componentDevice, componentImage} {
		if !found && ctx.Err() == nil {
			d, found = s.nearestIn(root, names, component, rec)
		}
	}
	return d, found
}

// The components, by the level of their directory.
const (
	componentDevice = iota
	componentImage
	componentConstants
	componentOptions
)

// compareWith compares a request with the entry of a recipe. read reports whether that
// could be read, near whether the entry hits and is near.
func (s *Store) compareWith(dir safefs.Dir, src string, rec *key.Recipe) (d store.Difference, read, near bool) {
	other, err := s.at.ReadRecipe(dir, src, maxNearRecipe)
	if err != nil {
		return d, false, false
	}
	d, near = compare.Recipes(rec, other)
	bin := strings.TrimSuffix(src, rootdir.SrcName(0)) + rootdir.BinName(0)
	return d, true, near && s.at.Owns(dir, bin, d.Key) == nil
}

// nearestIn tries other directories in the place of one of the four.
func (s *Store) nearestIn(
	root safefs.Dir, names rootdir.LeafNames, component int, rec *key.Recipe,
) (d store.Difference, found bool) {
	dir := root
	if component > 0 {
		var err error
		if dir, err = root.OpenDir(rootdir.LeafPrefix(names, component)); err != nil {
			return d, false
		}
		defer dir.Close()
	}
	dirs, read := 0, 0
	_ = dir.Each(func(name string) bool {
		if !rootdir.IsDirName(name) || name == names[component] {
			return true
		}
		dirs++
		below := path.Join(name, path.Join(names[component+1:]...), rootdir.SrcName(0))
		var known bool
		if d, known, found = s.compareWith(dir, below, rec); known {
			read++
		}
		return !found && dirs < maxNearDirs && read < maxNearRead
	})
	return d, found
}

// CostNear returns what a build took of the same image with the same constants and options for another device, the
// most of some; see [store.Coster].
func (s *Store) CostNear(ctx context.Context, k key.Key) (cost time.Duration) {
	names := s.at.Names(k)
	_ = s.at.Look(ctx, func(r *rootdir.Root) error {
		dirs, read := 0, 0
		return r.Dir.Each(func(name string) bool {
			if !rootdir.IsDirName(name) || name == names[componentDevice] {
				return true
			}
			dirs++
			at := names
			at[componentDevice] = name
			if h, err := s.at.Header(r.Dir, at.File(rootdir.BinName(0))); err == nil {
				if read++; s.at.Names(h.Key) == at {
					cost = max(cost, h.Cost)
				}
			}
			return ctx.Err() == nil && dirs < maxNearDirs && read < maxNearRead
		})
	})
	return cost
}

// CompareDevices says for people in what a device differs from another.
func CompareDevices(now, was key.Device) string { return compare.Devices(now, was) }

// Change is a component of a key in which an entry differs from another.
type Change = compare.Component

// CompareRecipes says in what one recipe differs from another.
func CompareRecipes(now, was *key.Recipe) []Change { return compare.Components(now, was) }
