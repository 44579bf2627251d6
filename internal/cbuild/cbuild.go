//go:build linux

// Package cbuild builds the C library and the shims for tests, once for all packages
// where nothing has changed, and compiles C programs against them. It is for tests alone:
//
//	func TestMain(m *testing.M) { os.Exit(cbuild.Main(m)) }
//
//	lib := cbuild.Library(t)
//	program := lib.Compile(t, []string{"testdata/hit.c"}, "-fsanitize=address")
//	cmd := exec.Command(program)
//
// It needs the go command, a C compiler (CC, else cc) and, for the shims, make.
package cbuild

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
)

// Built says where what was built lies. All paths are absolute.
type Built struct {
	Root    string // of the module
	Dir     string // the folder of the libraries
	Library string // libkernstash.so.1
	Go      string // libkernstash-go.so.1, which that opens
	Layer   string // libkernstash_opencl_layer.so
	Include string // the folder of kernstash.h
	Stub    string // kernstash_stub.c, the folder of which holds kernstash_stub.h
}

var dir atomic.Pointer[string]

// programs holds a command line → func() (path string, err error).
var programs sync.Map

var build = sync.OnceValues(func() (*Built, error) {
	root, err := Root()
	if err != nil {
		return nil, err
	}
	dependOn(filepath.Join(root, "capi"), filepath.Join(root, "shim"))
	out, err := os.MkdirTemp("", "kernstash-lib-")
	if err != nil {
		return nil, err
	}
	dir.Store(&out)
	if err := forAll(root, "lock", out, func(in string) ([]string, error) { return libraries(root, in) }); err != nil {
		return nil, err
	}
	return &Built{
		Root: root, Dir: out,
		Library: filepath.Join(out, "libkernstash.so.1"),
		Go:      filepath.Join(out, "libkernstash-go.so.1"),
		Layer:   filepath.Join(out, "libkernstash_opencl_layer.so"),
		Include: filepath.Join(root, "capi"),
		Stub:    filepath.Join(root, "capi", "stub", "kernstash_stub.c"),
	}, nil
})

// dependOn reads the folders below some. The go command takes a test's result from its cache
// only where the folders that the test has read are as they were, with the files in them; what
// compilers read it does not see.
func dependOn(folders ...string) {
	for _, folder := range folders {
		_ = filepath.WalkDir(folder, func(_ string, _ os.DirEntry, err error) error { return err })
	}
}

// Root returns the nearest folder above the working directory that holds go.mod.
func Root() (string, error) {
	at, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for {
		if _, err := os.Stat(filepath.Join(at, "go.mod")); err == nil {
			return at, nil
		}
		up := filepath.Dir(at)
		if up == at {
			return "", errors.New("no go.mod above the working directory")
		}
		at = up
	}
}

// Library builds the libraries at the first call in a process and says where
// they are. It fails the test where that is not possible.
func Library(t testing.TB) *Built {
	t.Helper()
	b, err := build()
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// Main runs the tests and removes what Library built. It returns the exit status, for TestMain.
func Main(m *testing.M) int {
	defer func() {
		if d := dir.Load(); d != nil {
			_ = os.RemoveAll(*d)
		}
	}()
	return m.Run()
}

// CC is the C compiler: the variable CC, else cc.
func CC() string { return cmp.Or(os.Getenv("CC"), "cc") }

// Warnings are the flags that all C of this project is clean under.
var Warnings = []string{"-std=c11", "-Wall", "-Wextra", "-Werror"}

// Compile makes a program of C files, or of C++ files, which end in .cpp (the variable CXX, else c++), linked
// with the library, and returns its path. The program is there until the process ends, and is made once for
// equal arguments. The files stand before the flags that begin with "-l", and behind the others.
func (b *Built) Compile(t testing.TB, files []string, flags ...string) string {
	t.Helper()
	return b.CompileAlone(t, files, append(slices.Clone(flags), "-L"+b.Dir, "-lkernstash", "-Wl,-rpath,"+b.Dir)...)
}

// CompileAlone is Compile without linking with the library; the header is found.
func (b *Built) CompileAlone(t testing.TB, files []string, flags ...string) string {
	t.Helper()
	line := strings.Join(append(slices.Clone(files), flags...), "\x00")
	once, _ := programs.LoadOrStore(line, sync.OnceValues(func() (string, error) { return b.make(files, flags) }))
	program, err := once.(func() (string, error))()
	if err != nil {
		t.Fatal(err)
	}
	return program
}

func (b *Built) make(files, flags []string) (string, error) {
	folder, err := os.MkdirTemp(b.Dir, "program-")
	if err != nil {
		return "", err
	}
	out := filepath.Join(folder, strings.TrimSuffix(filepath.Base(files[0]), filepath.Ext(files[0])))
	compiler := CC()
	args := append([]string{"-g", "-O1", "-o", out}, Warnings...)
	if strings.HasSuffix(files[0], ".cpp") {
		compiler, args[4] = cmp.Or(os.Getenv("CXX"), "c++"), "-std=c++17"
	}
	var libraries []string
	for _, f := range flags {
		if strings.HasPrefix(f, "-l") {
			libraries = append(libraries, f)
		} else {
			args = append(args, f)
		}
	}
	args = slices.Concat(args, []string{"-I" + b.Include}, files, libraries)
	if log, err := exec.Command(compiler, args...).CombinedOutput(); err != nil {
		return "", fmt.Errorf("%s %s: %w\n%s", compiler, strings.Join(args, " "), err, log)
	}
	return out, nil
}
