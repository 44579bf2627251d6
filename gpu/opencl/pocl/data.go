package pocl

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"unsafe"

	"github.com/kernstash/kernstash/gpu/opencl/internal/driver"
	"github.com/kernstash/kernstash/internal/contents"
	"github.com/kernstash/kernstash/internal/dl"
	"github.com/kernstash/kernstash/internal/elfid"
	"github.com/kernstash/kernstash/key"
)

// PoCL compiles with more than its libraries: with the headers and the kernel libraries of
// its data directory, and with the linker and libgcc.a of the system, which clang looks for
// (PoCL 3.1 by its system calls; docs/INPUTS.md has the list). All of that is in the identity of its devices.

// Errors of what PoCL compiles with.
var (
	errData   = errors.New("PoCL's headers and kernel libraries are not where they are looked for")
	errLinker = errors.New("the linker that PoCL runs is not known")
	errMoved  = errors.New("what PoCL compiles with changed while the process ran")
)

// files are what a process's PoCL compiles with. There is one: it is loaded once.
type files struct {
	mu    sync.Mutex
	asked bool
	pairs []key.Pair
	err   error
	files contents.Set
	found search
	moved bool
}

var loaded files

// compileWith returns what PoCL's platform compiles with besides libraries.
func (f *files) compileWith(p driver.Platform) ([]key.Pair, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if !f.asked {
		f.asked = true
		f.pairs, f.err = f.find(openedAs(p), p.Env.Now())
	}
	return f.pairs, f.err
}

func (f *files) find(library string, environ []string) ([]key.Pair, error) {
	if !filepath.IsAbs(library) {
		return nil, fmt.Errorf("%w: %q", errData, library)
	}
	var data, gcc contents.Set
	for _, dir := range dataDirectories(library) {
		if err := data.Add("", dir); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, fmt.Errorf("%w: %w", errData, err)
		}
	}
	if data.Empty() {
		return nil, errData
	}
	// clang takes the highest version of the targets that are there.
	archives, _ := filepath.Glob("/usr/lib*/gcc/*/*/libgcc.a")
	for _, path := range archives {
		if err := gcc.Add(strings.TrimPrefix(path, "/usr/"), path); err != nil {
			return nil, fmt.Errorf("%w: %w", errLinker, err)
		}
	}
	pairs := []key.Pair{{Name: "PoCL's data", Value: "content:" + data.Digest()}, {Name: "libgcc.a", Value: "content:" + gcc.Digest()}}
	f.files.Join(&data)
	f.files.Join(&gcc)
	f.found = searchLinker(environ)
	all, err := linkerFiles(f.found.linkers, environ)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errLinker, err)
	}
	f.files.Join(all)
	return append(pairs, key.Pair{Name: "ld", Value: "content:" + all.Digest()}), nil
}

// steady returns an error where something that PoCL compiles with is not, or once was not,
// as it was when the process asked for it first: what PoCL has read by then, and what it
// reads anew, is not known. It costs a stat for each file and each directory of PATH.
func (f *files) steady(environ []string) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if !f.files.Empty() {
		f.moved = f.moved || f.files.Changed() != "" || !f.found.holds(environ)
	}
	if f.moved {
		return errMoved
	}
	return nil
}

// openedAs returns the path by which the platform's driver was opened: its data is looked
// for from there.
func openedAs(p driver.Platform) string {
	for _, name := range []string{"libc.so.6", "libdl.so.2"} {
		lib, ok := dl.Loaded(name)
		if !ok {
			continue
		}
		if dladdr, ok := lib.Symbol("dladdr"); ok {
			var info [4]uintptr // Dl_info: file name, its address, symbol, its address
			if uint32(dladdr.Call(dl.Word(dl.Word(uintptr(p.ID))), uintptr(unsafe.Pointer(&info)))) != 0 && info[0] != 0 {
				return dl.String(info[0])
			}
		}
	}
	return p.Library(elfid.Loaded())
}

// dataDirectories returns where PoCL's data may be: it lies so from the library that it is
// looked for with a path that is fixed when PoCL is compiled, mostly ../../share/pocl (Debian)
// or ../share/pocl, or at a fixed place. Those that are not there do not matter, and what is
// in one too many costs a miss.
func dataDirectories(library string) []string {
	var all []string
	dirs := []string{filepath.Dir(library)}
	if path, err := filepath.EvalSymlinks(library); err == nil {
		dirs = append(dirs, filepath.Dir(path))
	}
	for _, dir := range dirs {
		for _, up := range []string{"/..", "/../..", "/../../.."} {
			// As the kernel reads it: dir may end with a link.
			if path, err := filepath.EvalSymlinks(dir + up); err == nil {
				all = append(all, filepath.Join(path, "share/pocl"))
			}
		}
	}
	all = append(all, "/usr/share/pocl", "/usr/local/share/pocl")
	slices.Sort(all)
	return slices.Compact(all)
}

// search is what a search for the linker found.
type search struct {
	path    string           // the variable PATH
	dirs    []contents.Stamp // of the directories in it
	linkers []string         // the first of each name
}

// searchLinker looks for the linker as clang does, that of the target before any other. Which
// target that is only clang knows, so all count.
func searchLinker(environ []string) search {
	s := search{path: variable(environ, "PATH")}
	s.dirs = contents.Stamps(filepath.SplitList(s.path))
	for _, name := range linkerNames() {
		for _, dir := range filepath.SplitList(s.path) {
			at := filepath.Join(dir, name)
			if st, err := os.Stat(at); dir != "" && err == nil && st.Mode().IsRegular() && st.Mode()&0o111 != 0 {
				s.linkers = append(s.linkers, at)
				break
			}
		}
	}
	return s
}

// holds reports whether a search would find the same now.
func (s *search) holds(environ []string) bool {
	path := variable(environ, "PATH")
	if path == s.path && slices.Equal(contents.Stamps(filepath.SplitList(path)), s.dirs) {
		return true
	}
	again := searchLinker(environ)
	same := slices.Equal(again.linkers, s.linkers)
	*s = again
	return same
}

func linkerNames() []string {
	others := map[string]string{"amd64": "x86_64", "arm64": "aarch64", "ppc64le": "powerpc64le"}
	arch := cmp.Or(others[runtime.GOARCH], runtime.GOARCH)
	return []string{arch + "-pc-linux-gnu-ld", arch + "-unknown-linux-gnu-ld", arch + "-linux-gnu-ld", "ld"}
}

// linkerFiles returns the linkers and those of their libraries that link.
func linkerFiles(linkers, environ []string) (*contents.Set, error) {
	var all contents.Set
	for _, ld := range linkers {
		if !filepath.IsAbs(ld) {
			return nil, fmt.Errorf("%s is found from the working directory", ld)
		}
		if err := all.Add(filepath.Base(ld), ld); err != nil {
			return nil, err
		}
		l, err := elfid.Inspect(ld)
		if err != nil {
			return nil, err
		}
		if !strings.HasPrefix(l.ID, "build-id:") {
			return nil, fmt.Errorf("%s is no program that says what it is", ld) // a script may run anything
		}
		if err := addLibraries(&all, l.Needed, environ); err != nil {
			return nil, err
		}
	}
	return &all, nil
}

// addLibraries adds those of a linker's libraries that link.
func addLibraries(all *contents.Set, needed, environ []string) error {
	dirs := filepath.SplitList(variable(environ, "LD_LIBRARY_PATH"))
	if libc := elfid.Loaded().Named(func(base string) bool { return base == "libc.so.6" }); len(libc) > 0 {
		dirs = append(dirs, filepath.Dir(libc[0]))
	}
	for _, name := range needed {
		if !strings.HasPrefix(name, "libbfd") {
			continue
		}
		for _, dir := range append(dirs, "/usr/lib64", "/usr/lib", "/lib64", "/lib") {
			err := all.Add(name, filepath.Join(dir, name))
			if err == nil {
				break
			}
			if !errors.Is(err, fs.ErrNotExist) {
				return err
			}
		}
	}
	return nil
}
