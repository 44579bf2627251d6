// Package cbuild builds the C library and the shims for tests, once a process,
// and compiles C programs against them. It is for tests alone:
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
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
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
	Layer   string // libkernstash_opencl_layer.so; "" where there are no sources of it
	Include string // the folder of kernstash.h
	Stub    string // kernstash_stub.c, the folder of which holds kernstash_stub.h
}

var dir atomic.Pointer[string]

var build = sync.OnceValues(func() (*Built, error) {
	root, err := moduleRoot()
	if err != nil {
		return nil, err
	}
	out, err := os.MkdirTemp("", "kernstash-lib-")
	if err != nil {
		return nil, err
	}
	dir.Store(&out)
	cmd := exec.Command(filepath.Join(root, "capi", "build"), out)
	cmd.Dir = root
	if log, err := cmd.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("build the C library: %w\n%s", err, log)
	}
	b := &Built{
		Root: root, Dir: out,
		Library: filepath.Join(out, "libkernstash.so.1"),
		Layer:   filepath.Join(out, "libkernstash_opencl_layer.so"),
		Include: filepath.Join(root, "capi"),
		Stub:    filepath.Join(root, "capi", "stub", "kernstash_stub.c"),
	}
	if _, err := os.Stat(b.Layer); err != nil {
		b.Layer = ""
	}
	return b, nil
})

// moduleRoot returns the nearest folder above the working directory that holds
// go.mod.
func moduleRoot() (string, error) {
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

// Main runs the tests and removes what Library built. It returns the exit
// status, for TestMain.
func Main(m *testing.M) int {
	defer func() {
		if d := dir.Load(); d != nil {
			_ = os.RemoveAll(*d)
		}
	}()
	return m.Run()
}

// CC is the C compiler: the variable CC, else cc.
func CC() string {
	if cc := os.Getenv("CC"); cc != "" {
		return cc
	}
	return "cc"
}

// Warnings are the flags that all C of this project is clean under.
var Warnings = []string{"-std=c11", "-Wall", "-Wextra", "-Werror"}

// Flags are those with which a program finds the header and the library, when
// it is linked and when it runs.
func (b *Built) Flags() []string {
	return []string{"-I" + b.Include, "-L" + b.Dir, "-lkernstash", "-Wl,-rpath," + b.Dir}
}

// Compile makes a program of C files, linked with the library, in a folder that
// goes with the test, and returns its path. Flags stand before the files, where
// "-l…" has its effect behind them: those that start so are moved there.
func (b *Built) Compile(t testing.TB, files []string, flags ...string) string {
	t.Helper()
	return b.compile(t, files, append(flags, b.Flags()...))
}

// CompileAlone is Compile without linking with the library; the header is found.
func (b *Built) CompileAlone(t testing.TB, files []string, flags ...string) string {
	t.Helper()
	return b.compile(t, files, append(flags, "-I"+b.Include))
}

func (b *Built) compile(t testing.TB, files, flags []string) string {
	t.Helper()
	name := strings.TrimSuffix(filepath.Base(files[0]), filepath.Ext(files[0]))
	out := filepath.Join(t.TempDir(), name)
	args := append([]string{"-g", "-O1", "-o", out}, Warnings...)
	var libraries []string
	for _, f := range flags {
		if strings.HasPrefix(f, "-l") {
			libraries = append(libraries, f)
		} else {
			args = append(args, f)
		}
	}
	args = append(append(args, files...), libraries...)
	run(t, CC(), args...)
	return out
}

func run(t testing.TB, name string, args ...string) {
	t.Helper()
	var log bytes.Buffer
	cmd := exec.Command(name, args...)
	cmd.Stdout, cmd.Stderr = &log, &log
	if err := cmd.Run(); err != nil {
		t.Fatalf("%s %s: %v\n%s", name, strings.Join(args, " "), err, log.Bytes())
	}
}
