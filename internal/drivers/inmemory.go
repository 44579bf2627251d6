package drivers

import (
	"cmp"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/kernstash/kernstash/internal/contents"
	"github.com/kernstash/kernstash/internal/dl"
	"github.com/kernstash/kernstash/internal/elfid"
	"github.com/kernstash/kernstash/key"
)

// Object is a library as it lies in the process's memory.
type Object struct {
	elfid.Library // ID is the build id alone, empty where it has none; Soname, where it has none

	Path   string  // as it was opened
	At     uintptr // an address that is mapped from its file
	Driver bool    // it holds what an object of the driver's leads to
}

// Objects, where it is set, asks the dynamic linker what the process has loaded, of
// what has a base name with one of the prefixes, and the driver of an ICD object: a
// pointer to a pointer to a table of the driver's functions. Nothing is read of files,
// nor of memory that may not be there. Who has C at hand sets it, in an init.
var Objects func(object uintptr, prefixes []string) []Object

// InMemory is Compilers of the one driver that an ICD object belongs to, as Objects tells of
// it: within some 10 µs, a stat for each library, and some 10 µs for each companion that lies
// beside the driver, whose file is read. It is not ok where that does not tell all.
func InMemory(object uintptr) (pairs []key.Pair, ok bool) {
	if Objects == nil {
		return nil, false
	}
	prefixes := slices.Clone(compilers)
	for _, all := range companions {
		for _, c := range all {
			prefixes = append(prefixes, c.prefix)
		}
	}
	all := objects(Objects(object, prefixes))
	driver := slices.IndexFunc(all, func(o Object) bool { return o.Driver })
	if driver < 0 || !isKnown(all[driver].Path) {
		return nil, false
	}
	own := all[driver]
	left := []Object{own}
	for prefix, cs := range companions {
		if !strings.HasPrefix(path.Base(own.Path), prefix) {
			continue
		}
		for _, c := range cs {
			if c.beside {
				continue
			}
			found := all.named(c)
			if len(found) == 0 && len(c.open) > 0 {
				if _, err := dl.Open(c.open...); err == nil {
					if all = Objects(object, prefixes); len(all) == 0 {
						return nil, false
					}
					found = all.named(c)
				}
			}
			left = append(left, found...)
		}
		beside, ok := own.beside(prefix, cs)
		if !ok {
			return nil, false
		}
		left = append(left, beside...)
	}
	var closed []Object
	for ; len(left) > 0; left = left[1:] {
		o := left[0]
		if o.ID == "" || o.Soname == "" {
			return nil, false // its file has to be read
		}
		if slices.ContainsFunc(closed, func(k Object) bool { return k.Soname == o.Soname && k.ID == o.ID }) {
			continue
		}
		closed = append(closed, o)
		for _, name := range o.Needed {
			if !isCompiler(name) {
				continue
			}
			i := slices.IndexFunc(all, func(k Object) bool { return k.Soname == name })
			if i < 0 {
				return nil, false // it may be being loaded just now
			}
			left = append(left, all[i])
		}
	}
	if !withContent(closed) {
		return nil, false
	}
	slices.SortFunc(closed, func(a, b Object) int {
		return cmp.Or(strings.Compare(a.Soname, b.Soname), strings.Compare(a.ID, b.ID))
	})
	for _, o := range closed {
		pairs = append(pairs, key.Pair{Name: o.Soname, Value: o.ID})
	}
	return pairs, true
}

// withContent makes the objects' ids those of elfid, and reports whether it could. The
// kernel says which files they were loaded from: by the names that they were opened with
// others may be reached by now.
func withContent(all []Object) bool {
	addrs := make([]uintptr, len(all))
	for i, o := range all {
		addrs[i] = o.At
	}
	read := contents.Readings()
	files := elfid.Files(addrs)
	for i, path := range files {
		if all[i].At == 0 { // it is not loaded, and was inspected
			continue
		}
		content, err := contents.Digest(path)
		if err != nil {
			return false
		}
		all[i].ID = elfid.Name(all[i].ID, content)
	}
	// A file that was replaced while others were read is not what runs.
	return contents.Readings() == read || slices.Equal(files, elfid.Files(addrs))
}

// beside returns those of a driver's companions that lie beside its file, which begins with
// prefix as its name in memory does. It is not ok where that cannot be told.
func (o Object) beside(prefix string, cs []companion) (found []Object, ok bool) {
	if !slices.ContainsFunc(cs, func(c companion) bool { return c.beside }) {
		return nil, true
	}
	file, ok := o.file()
	if !ok || !strings.HasPrefix(filepath.Base(file), prefix) {
		return nil, false
	}
	for _, c := range cs {
		if !c.beside {
			continue
		}
		for _, path := range c.besides(file) {
			l, err := elfid.Inspect(path)
			if err != nil {
				return nil, false
			}
			found = append(found, Object{Library: *l, Path: path})
		}
	}
	return found, true
}

// file returns the path of the file that the object was loaded from, links followed. It is
// not ok where something else lies there by now.
func (o Object) file() (string, bool) {
	if !filepath.IsAbs(o.Path) {
		return "", false
	}
	path, err := filepath.EvalSymlinks(o.Path)
	if err != nil {
		return "", false
	}
	l, err := elfid.Inspect(path)
	return path, err == nil && strings.HasPrefix(l.ID, elfid.Name(o.ID, ""))
}

type objects []Object

func (all objects) named(c companion) (found []Object) {
	for _, o := range all {
		if c.is(path.Base(o.Path)) {
			found = append(found, o)
		}
	}
	return found
}
