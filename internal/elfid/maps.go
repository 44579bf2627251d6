package elfid

import (
	"bytes"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// Mapping is a range of this process's memory.
type Mapping struct {
	Start, End uintptr
	Path       string // of the file that backs it, absolute; empty where none does
}

// Mappings are in the order of their addresses.
type Mappings []Mapping

// Loaded returns what /proc/self/maps says is mapped readable into this process
// now. Files that were deleted or replaced since have no path: what is there
// now is not what runs. There are no mappings on systems without that file.
func Loaded() Mappings {
	f, err := openLibrary("/proc/self/maps")
	if err != nil {
		return nil
	}
	defer f.Close()
	// It has no size to be known beforehand, and is some 20 KB with a GPU driver.
	b := bytes.NewBuffer(make([]byte, 0, mapsSize))
	if _, err := b.ReadFrom(f); err != nil {
		return nil
	}
	return parseMaps(b.Bytes())
}

const mapsSize = 64 << 10

// parseMaps reads lines such as
//
//	7f12a0000000-7f12a0021000 r-xp 00000000 08:01 1234    /usr/lib/libfoo.so.1
func parseMaps(b []byte) Mappings {
	m := make(Mappings, 0, bytes.Count(b, []byte{'\n'}))
	for len(b) > 0 {
		var line []byte
		line, b, _ = bytes.Cut(b, []byte{'\n'})
		span, rest, _ := bytes.Cut(line, []byte{' '})
		first, last, _ := bytes.Cut(span, []byte{'-'})
		start, err1 := strconv.ParseUint(string(first), 16, 64)
		end, err2 := strconv.ParseUint(string(last), 16, 64)
		if err1 != nil || err2 != nil || len(rest) == 0 || rest[0] != 'r' {
			continue
		}
		var path []byte
		if i := bytes.IndexByte(rest, '/'); i >= 0 && !bytes.HasSuffix(rest, []byte(" (deleted)")) {
			path = rest[i:]
		}
		if n := len(m); n > 0 && m[n-1].End == uintptr(start) && m[n-1].Path == string(path) {
			m[n-1].End = uintptr(end)
			continue
		}
		m = append(m, Mapping{uintptr(start), uintptr(end), pathOf(m, path)})
	}
	return m
}

// pathOf returns a path as a string, the last one's where it is the same: a file is mapped
// in several pieces.
func pathOf(m Mappings, path []byte) string {
	if n := len(m); n > 0 && m[n-1].Path == string(path) {
		return m[n-1].Path
	}
	return string(path)
}

// Find returns the mapping that holds an address.
func (m Mappings) Find(addr uintptr) (Mapping, bool) {
	i, found := slices.BinarySearchFunc(m, addr, func(r Mapping, a uintptr) int {
		switch {
		case r.End <= a:
			return -1
		case r.Start > a:
			return 1
		}
		return 0
	})
	if !found {
		return Mapping{}, false
	}
	return m[i], true
}

// Named returns the files whose base name match accepts, each once, sorted.
func (m Mappings) Named(match func(base string) bool) []string {
	var out []string
	for i, r := range m {
		if r.Path != "" && (i == 0 || m[i-1].Path != r.Path) && match(filepath.Base(r.Path)) {
			out = append(out, r.Path)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// soname returns the loaded file of a soname, or "". The file has that name, or
// that and a minor version, as packages name them.
func (m Mappings) soname(name string) string {
	paths := m.Named(func(base string) bool { return base == name || strings.HasPrefix(base, name+".") })
	for _, p := range paths {
		if filepath.Base(p) == name {
			return p
		}
	}
	if len(paths) > 0 {
		return paths[0]
	}
	return ""
}
