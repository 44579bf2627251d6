package rootdir

import (
	"errors"
	"io/fs"
	"slices"

	"github.com/kernstash/kernstash/internal/format"
	"github.com/kernstash/kernstash/internal/safefs"
	"github.com/kernstash/kernstash/key"
	"github.com/kernstash/kernstash/store"
	"github.com/kernstash/kernstash/store/disk/evict"
)

// Survey is what a writer finds in a leaf directory.
type Survey struct {
	Same     *uint32         // the number of a good entry of the key
	Artifact *store.Artifact // that entry's
	bad      *uint32         // the lowest number of an entry that can hit nowhere
	taken    []uint32        // numbers that are in use, or not ours to touch
}

// Numbers returns the numbers of the .bin files in a leaf, ascending, and those of the
// .src files.
func Numbers(leaf safefs.Dir) (bins, recipes []uint32, err error) {
	err = leaf.Each(func(name string) bool {
		switch n, suffix, ok := parseName(name); {
		case !ok:
		case suffix == binSuffix:
			bins = append(bins, n)
		default:
			recipes = append(recipes, n)
		}
		return true
	})
	slices.Sort(bins)
	return bins, recipes, err
}

// Survey looks at every entry of a leaf.
func (p *Place) Survey(leaf safefs.Dir, k key.Key) (Survey, error) {
	var v Survey
	numbers, recipes, err := Numbers(leaf)
	if err != nil {
		return v, err
	}
	for _, n := range numbers {
		_, a, err := p.Load(leaf, BinName(n), &k, format.DecodeBin)
		switch {
		case err == nil:
			if v.Same == nil || a.Better(v.Artifact) {
				v.Same, v.Artifact = &n, a
			}
		case Damaged(err) && !IsDirectory(leaf, BinName(n)) && ReplaceableSrc(leaf, n):
			if v.bad == nil {
				v.bad = &n
			}
		}
		v.taken = append(v.taken, n)
	}
	for _, n := range recipes {
		if _, found := slices.BinarySearch(numbers, n); !found && !ReplaceableSrc(leaf, n) {
			v.taken = append(v.taken, n)
		}
	}
	slices.Sort(v.taken)
	return v, nil
}

func IsDirectory(leaf safefs.Dir, name string) bool {
	info, err := leaf.Lstat(name)
	return err == nil && info.Kind == safefs.Directory
}

// ReplaceableSrc reports whether the recipe of a number may be replaced: it is not there, or
// not one of another version of kernstash. Where that cannot be told, it may not.
func ReplaceableSrc(leaf safefs.Dir, n uint32) bool {
	_, replaceable := lookSrc(leaf, n)
	return replaceable
}

// lookSrc is replaceableSrc, and says what the recipe is; nil: nothing is there, or
// nobody can know.
func lookSrc(leaf safefs.Dir, n uint32) (src *safefs.Info, replaceable bool) {
	f, info, err := leaf.Open(SrcName(n))
	if err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			return nil, true
		}
		src = Stat(leaf, SrcName(n))
		return src, Damaged(err) && !(src != nil && src.Kind == safefs.Directory)
	}
	defer f.Close()
	if info.Kind != safefs.Regular {
		return &info, info.Kind != safefs.Directory
	}
	b := make([]byte, min(info.Size, format.SrcHeaderBytes))
	if err := readFull(f, b); err != nil {
		return &info, Damaged(err)
	}
	return &info, !errors.Is(format.CheckSrc(b, info.Size), format.ErrVersion)
}

// Place returns the number to write to, and whether that replaces something.
func (v Survey) Place() (n uint32, replace bool) {
	switch {
	case v.Same != nil:
		return *v.Same, true
	case v.bad != nil:
		return *v.bad, true
	}
	for _, t := range v.taken {
		if t != n {
			break
		}
		n++
	}
	return n, false
}

// RemoveEntry removes both files of an entry, the one that decides a hit
// first, and returns what that freed. bin is what that is; nil: it is not there. A recipe
// of another version goes only with everything.
func RemoveEntry(leaf safefs.Dir, n uint32, bin *safefs.Info, everything bool) (evict.Usage, error) {
	if err := leaf.Remove(BinName(n)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return evict.Usage{}, err
	}
	var src *safefs.Info
	if everything {
		src = Stat(leaf, SrcName(n))
	} else if src, everything = lookSrc(leaf, n); !everything {
		src = nil // it stays, and is found as an orphan
	}
	if src != nil && leaf.Remove(SrcName(n)) == nil {
		return FileUsage(bin, src), nil
	}
	return FileUsage(bin, nil), nil
}
