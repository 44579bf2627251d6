package elfid

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/kernstash/kernstash/internal/contents"
	"github.com/kernstash/kernstash/internal/dl"
)

// Closure returns the libraries at the paths, and those that they are linked
// with, directly or through each other, as far as follow accepts their sonames
// and they are loaded; sorted by soname, each once. Two versions of one library
// may be loaded for two users: only the one that the paths are linked with is
// in the closure. Of a library that another thread is loading just now, which is mapped
// before what it is linked with, that is waited for.
//
// An error: a library cannot be read, or the file of one that m has was replaced, so that
// it is not known what is in the one that runs.
func (m Mappings) Closure(paths []string, follow func(soname string) bool) ([]*Library, error) {
	var all []*Library
	var used []string
	read := contents.Readings()
	first := m // m is taken again where that does not have a library yet
	if slices.ContainsFunc(paths, func(path string) bool { return !m.has(path) }) {
		m = Loaded()
	}
	for left := slices.Clone(paths); len(left) > 0; {
		l, err := Inspect(left[0])
		if err != nil {
			return nil, err
		}
		used, left = append(used, left[0]), left[1:]
		if slices.ContainsFunc(all, func(k *Library) bool { return k.Soname == l.Soname && k.ID == l.ID }) {
			continue
		}
		all = append(all, l)
		for _, name := range l.Needed {
			if !follow(name) {
				continue
			}
			path := m.soname(name)
			if path == "" {
				// The dynamic linker does not answer before libraries that are being loaded are.
				if _, ok := dl.Loaded(name); ok {
					m = Loaded()
					path = m.soname(name)
				}
			}
			if path != "" {
				left = append(left, path)
			}
		}
	}
	for _, seen := range []Mappings{first, m} {
		if contents.Readings() == read {
			break // it took no time
		}
		if err := seen.check(used...); err != nil {
			return nil, err
		}
	}
	slices.SortFunc(all, func(a, b *Library) int {
		return cmp.Or(strings.Compare(a.Soname, b.Soname), strings.Compare(a.ID, b.ID))
	})
	return all, nil
}

// check returns an error if one of the paths' files was replaced or removed since m was
// taken, where m has it: what was read of it later is not known to be what runs. It takes
// some 0.1 ms.
func (m Mappings) check(paths ...string) error {
	now := Loaded()
	for _, path := range paths {
		stays := slices.ContainsFunc(m, func(r Mapping) bool {
			if r.Path != path {
				return false
			}
			at, _ := now.Find(r.Start)
			return at.Path == path
		})
		if m.has(path) && !stays {
			return fmt.Errorf("%s: %w", path, errReplaced)
		}
	}
	return nil
}

func (m Mappings) has(path string) bool {
	return slices.ContainsFunc(m, func(r Mapping) bool { return r.Path == path })
}
