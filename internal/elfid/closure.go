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
				path = m.calls(name)
			}
			if path == "" && isLoaded(name) {
				m = Loaded()
				path = cmp.Or(m.soname(name), m.calls(name))
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
		if err := seen.Check(used...); err != nil {
			return nil, err
		}
	}
	slices.SortFunc(all, func(a, b *Library) int {
		return cmp.Or(strings.Compare(a.Soname, b.Soname), strings.Compare(a.ID, b.ID))
	})
	return all, nil
}

// Check returns an error if one of the paths' files was replaced or removed since m was
// taken, where m has it: what was read of it later is not known to be what runs. It takes
// some 0.1 ms.
func (m Mappings) Check(paths ...string) error {
	now := Loaded()
	for _, path := range paths {
		if m.has(path) && !m.stays(path, now) {
			return fmt.Errorf("%s: %w", path, errReplaced)
		}
	}
	return nil
}

func (m Mappings) has(path string) bool {
	return slices.ContainsFunc(m, func(r Mapping) bool { return r.Path == path })
}

// stays reports whether the file at path is in now at one of the addresses where m has it.
func (m Mappings) stays(path string, now Mappings) bool {
	return slices.ContainsFunc(m, func(r Mapping) bool {
		at, ok := now.Find(r.Start)
		return r.Path == path && ok && at.Path == path
	})
}

// calls returns the loaded file that calls itself by a soname, or "". Its own name may be
// another one, which a link of the soname leads to: libLLVM-18.so.18.1 is libLLVM-18.so.1
// in Debian 13.
func (m Mappings) calls(soname string) string {
	for _, path := range m.Named(func(base string) bool { return strings.Contains(base, ".so") }) {
		if sonameOf(path) == soname {
			return path
		}
	}
	return ""
}

// isLoaded asks the dynamic linker, which does not answer before libraries that are being
// loaded are.
func isLoaded(soname string) bool {
	_, ok := dl.Loaded(soname)
	return ok
}
