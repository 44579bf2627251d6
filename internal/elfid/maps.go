package elfid

import (
	"bufio"
	"bytes"
	"cmp"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/kernstash/kernstash/internal/contents"
	"github.com/kernstash/kernstash/internal/dl"
)

// Mapping is a range of this process's memory.
type Mapping struct {
	Start, End uintptr
	Path       string // of the file that backs it, absolute; empty where none does
}

// Mappings are what a process has mapped.
type Mappings struct {
	code     []Mapping // of files, in the order of their addresses
	readable []Mapping // all that is; nil: the kernel is asked for each address
}

// Loaded returns what is mapped into this process now. Files that were deleted or replaced since have
// no path: what is there now is not what runs. There are no mappings on systems other than Linux.
func Loaded() Mappings {
	if code, ok := queryCode(); ok {
		return Mappings{code: code}
	}
	f, err := os.Open("/proc/self/maps")
	if err != nil {
		return Mappings{}
	}
	defer f.Close()
	return parseMaps(f)
}

// deleted is what the kernel adds to the path of a file that is gone, or that another one has replaced.
const deleted = " (deleted)"

// parseMaps reads lines such as
//
//	7f12a0000000-7f12a0021000 r-xp 00000000 08:01 1234    /usr/lib/libfoo.so.1
//
// There are no mappings where not all lines can be read: a compiler might be missing.
func parseMaps(r io.Reader) Mappings {
	m := Mappings{readable: make([]Mapping, 0, 256)} // a process with a compiler of LLVM has some 250
	lines := bufio.NewScanner(r)
	for lines.Scan() {
		span, rest, _ := bytes.Cut(lines.Bytes(), []byte{' '})
		first, last, _ := bytes.Cut(span, []byte{'-'})
		start, err1 := strconv.ParseUint(string(first), 16, 64)
		end, err2 := strconv.ParseUint(string(last), 16, 64)
		if err1 != nil || err2 != nil || len(rest) < len("r-xp") {
			continue
		}
		var path []byte
		if i := bytes.IndexByte(rest, '/'); i >= 0 && !bytes.HasSuffix(rest, []byte(deleted)) {
			path = rest[i:]
		}
		at := Mapping{uintptr(start), uintptr(end), string(path)}
		if rest[0] == 'r' {
			m.readable = append(m.readable, at)
		}
		if rest[2] == 'x' && at.Path != "" {
			m.code = append(m.code, at)
		}
	}
	if lines.Err() != nil {
		return Mappings{}
	}
	return m
}

// Find returns what is mapped readable at an address, when the mappings were taken or now.
func (m Mappings) Find(addr uintptr) (Mapping, bool) {
	if m.readable == nil {
		return queryAt(addr)
	}
	return find(m.readable, addr)
}

func find(all []Mapping, addr uintptr) (Mapping, bool) {
	i := slices.IndexFunc(all, func(r Mapping) bool { return r.Start <= addr && addr < r.End })
	if i < 0 {
		return Mapping{}, false
	}
	return all[i], true
}

// Named returns the files with code whose base name match accepts, each once, sorted.
func (m Mappings) Named(match func(base string) bool) []string {
	var out []string
	for i, r := range m.code {
		if (i == 0 || m.code[i-1].Path != r.Path) && match(r.Path[strings.LastIndexByte(r.Path, '/')+1:]) {
			out = append(out, r.Path)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// soname returns the loaded file of a soname, or "". The file has that name, or that and a minor
// version, as packages name them, or it calls itself so: a link of the soname leads to
// libLLVM-18.so.18.1, which is libLLVM-18.so.1 in Debian 13.
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
	for _, path := range m.Named(func(base string) bool { return strings.Contains(base, ".so") }) {
		if l, _, err := read(path); err == nil && l.Soname == name {
			return path
		}
	}
	return ""
}

// Closure returns the libraries at the paths, and those that they are linked with, directly or
// through each other, as far as follow accepts their sonames and they are loaded; sorted by soname,
// each once. Two versions of one library may be loaded for two users: only the one that the paths
// are linked with is in the closure. Of a library that another thread is loading just now, which is
// mapped before what it is linked with, that is waited for.
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
		path := left[0]
		left = left[1:]
		if slices.Contains(used, path) {
			continue // LLVM is what five of Intel's libraries are linked with
		}
		l, err := Inspect(path)
		if err != nil {
			return nil, err
		}
		used = append(used, path)
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

// check returns an error if one of the paths' files was replaced or removed since m was taken,
// where m has it: what was read of it later is not known to be what runs. It takes some 0.1 ms.
func (m Mappings) check(paths ...string) error {
	now := Loaded()
	for _, path := range paths {
		stays := slices.ContainsFunc(m.code, func(r Mapping) bool {
			if r.Path != path {
				return false
			}
			at, _ := find(now.code, r.Start)
			return at.Path == path
		})
		if m.has(path) && !stays {
			return fmt.Errorf("%s: %w", path, errReplaced)
		}
	}
	return nil
}

func (m Mappings) has(path string) bool {
	return slices.ContainsFunc(m.code, func(r Mapping) bool { return r.Path == path })
}
