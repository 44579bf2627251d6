package elfid

import (
	"cmp"
	"slices"
	"strings"

	"github.com/kernstash/kernstash/internal/dl"
)

// Closure returns the libraries at the paths, and those that they are linked
// with, directly or through each other, as far as follow accepts their sonames
// and they are loaded; sorted by soname, each once. Two versions of one library
// may be loaded for two users: only the one that the paths are linked with is
// in the closure. Of a library that another thread is loading just now, which is mapped
// before what it is linked with, that is waited for.
func (m Mappings) Closure(paths []string, follow func(soname string) bool) ([]*Library, error) {
	var all []*Library
	for left := slices.Clone(paths); len(left) > 0; {
		l, err := Inspect(left[0])
		if err != nil {
			return nil, err
		}
		left = left[1:]
		if slices.ContainsFunc(all, func(k *Library) bool { return k.Soname == l.Soname && k.ID == l.ID }) {
			continue
		}
		all = append(all, l)
		for _, name := range l.Needed {
			if !follow(name) {
				continue
			}
			path := m.soname(name)
			if path == "" && isLoaded(name) {
				m = Loaded()
				path = m.soname(name)
			}
			if path != "" {
				left = append(left, path)
			}
		}
	}
	slices.SortFunc(all, func(a, b *Library) int {
		return cmp.Or(strings.Compare(a.Soname, b.Soname), strings.Compare(a.ID, b.ID))
	})
	return all, nil
}

// isLoaded asks the dynamic linker, which does not answer before libraries that are being
// loaded are.
func isLoaded(soname string) bool {
	_, ok := dl.Loaded(soname)
	return ok
}
