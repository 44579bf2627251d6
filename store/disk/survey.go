package disk

import (
	"errors"
	"io/fs"
	"slices"

	"github.com/kernstash/kernstash/internal/beneath"
	"github.com/kernstash/kernstash/internal/format"
	"github.com/kernstash/kernstash/key"
	"github.com/kernstash/kernstash/store"
)

// survey is what a writer finds in a leaf directory.
type survey struct {
	same     *uint32         // the number of a good entry of the key
	artifact *store.Artifact // that entry's
	bad      *uint32         // the lowest number of an entry that can hit nowhere
	taken    []uint32        // numbers that are in use, or not ours to touch
}

// survey looks at every entry of a leaf.
func (s *Store) survey(leaf beneath.Dir, k key.Key) (survey, error) {
	var v survey
	var recipes []uint32
	var numbers []uint32
	err := leaf.Each(func(name string) bool {
		switch n, suffix, ok := parseName(name); {
		case !ok:
		case suffix == binSuffix:
			numbers = append(numbers, n)
		default:
			recipes = append(recipes, n)
		}
		return true
	})
	if err != nil {
		return v, err
	}
	slices.Sort(numbers)
	for _, n := range numbers {
		a, err := s.inspect(leaf, n, k)
		switch {
		case err == nil:
			if v.same == nil || a.Better(v.artifact) {
				v.same, v.artifact = &n, a
			}
		case damaged(err) && !isDirectory(leaf, binName(n)) && replaceableSrc(leaf, n):
			if v.bad == nil {
				v.bad = &n
			}
		}
		v.taken = append(v.taken, n)
	}
	for _, n := range recipes {
		if _, found := slices.BinarySearch(numbers, n); !found && !replaceableSrc(leaf, n) {
			v.taken = append(v.taken, n)
		}
	}
	slices.Sort(v.taken)
	return v, nil
}

func (s *Store) inspect(leaf beneath.Dir, n uint32, k key.Key) (*store.Artifact, error) {
	f, info, err := s.openBin(leaf, binName(n))
	if err != nil {
		return nil, err
	}
	defer f.Close()
	_, a, err := readBin(f, info, &k, whole)
	return a, err
}

func isDirectory(leaf beneath.Dir, name string) bool {
	info, err := leaf.Lstat(name)
	return err == nil && info.Kind == beneath.Directory
}

// replaceableSrc says whether the recipe of a number may be replaced: it is
// not there, or not one of another version of kernstash. Where that cannot be
// told, it may not.
func replaceableSrc(leaf beneath.Dir, n uint32) bool {
	_, replaceable := lookSrc(leaf, n)
	return replaceable
}

// lookSrc is replaceableSrc, and says what the recipe is; nil: nothing is there, or
// nobody can know.
func lookSrc(leaf beneath.Dir, n uint32) (src *beneath.Info, replaceable bool) {
	f, info, err := leaf.Open(srcName(n))
	if err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			return nil, true
		}
		src = stat(leaf, srcName(n))
		return src, damaged(err) && !(src != nil && src.Kind == beneath.Directory)
	}
	defer f.Close()
	if info.Kind != beneath.Regular {
		return &info, info.Kind != beneath.Directory
	}
	b := make([]byte, min(info.Size, format.SrcHeaderBytes))
	if err := readFull(f, b); err != nil {
		return &info, damaged(err)
	}
	return &info, !errors.Is(format.CheckSrc(b, info.Size), format.ErrVersion)
}

// place returns the number to write to, and whether that replaces something.
func (v survey) place() (n uint32, replace bool) {
	switch {
	case v.same != nil:
		return *v.same, true
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
