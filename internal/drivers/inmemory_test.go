//go:build linux

package drivers_test

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kernstash/kernstash/internal/dl"
	"github.com/kernstash/kernstash/internal/drivers"
	"github.com/kernstash/kernstash/internal/elfid"
)

// A driver as NVIDIA's: it is opened through a link, and what compiles for it lies beside its
// file, loaded or not. The dynamic linker's answer is the one of the process's mappings, and
// there is none where the driver was replaced.
func TestInMemoryWithCompanionsBeside(t *testing.T) {
	dir := t.TempDir()
	library := func(name, code string) (path string) {
		t.Helper()
		source, path := filepath.Join(dir, name+".c"), filepath.Join(dir, name+".so.580.1")
		if err := os.WriteFile(source, []byte(code), 0o600); err != nil {
			t.Fatal(err)
		}
		out, err := exec.Command("cc", "-shared", "-fPIC", "-Wl,--build-id=sha1,-soname,"+name+".so.1", "-o", path, source).CombinedOutput()
		if err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		return path
	}
	driver := library("libnvidia-opencl", "int driver;\n")
	library("libnvidia-nvvm70", "int nvvm;\n")
	library("libnvidia-ptxjitcompiler", "int ptx;\n")
	library("libcuda", "int cuda;\n")
	link := filepath.Join(dir, "libnvidia-opencl.so.1")
	if err := os.Symlink(filepath.Base(driver), link); err != nil {
		t.Fatal(err)
	}
	l, err := elfid.Inspect(driver)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := dl.Open(driver); err != nil {
		t.Fatal(err)
	}
	var at uintptr
	for _, m := range elfid.Loaded() {
		if m.Path == driver && at == 0 {
			at = m.Start
		}
	}
	inMemory := *l
	inMemory.ID, _, _ = strings.Cut(strings.TrimPrefix(l.ID, "build-id:"), " ")
	before := drivers.Objects
	t.Cleanup(func() { drivers.Objects = before })
	drivers.Objects = func(uintptr, []string) []drivers.Object {
		return []drivers.Object{{Library: inMemory, Path: link, At: at, Driver: true}}
	}

	want, err := drivers.Compilers(elfid.Loaded(), driver)
	if err != nil {
		t.Fatal(err)
	}
	got, ok := drivers.InMemory(0)
	if diff := cmp.Diff(want, got); !ok || diff != "" {
		t.Errorf("in memory: ok %v, %s", ok, diff)
	}
	var names []string
	for _, p := range got {
		names = append(names, p.Name)
	}
	if diff := cmp.Diff([]string{"libcuda.so.1", "libnvidia-nvvm70.so.1", "libnvidia-opencl.so.1", "libnvidia-ptxjitcompiler.so.1"}, names); diff != "" {
		t.Error(diff)
	}

	// By that name nobody knows it, nor what lies beside it.
	renamed := filepath.Join(dir, "vendor.so.580.1")
	if err := errors.Join(os.Rename(driver, renamed), os.Remove(link), os.Symlink(renamed, link)); err != nil {
		t.Fatal(err)
	}
	if _, ok := drivers.InMemory(0); ok {
		t.Error("an answer although the driver's file has another name")
	}
	if err := errors.Join(os.Remove(renamed), os.Remove(link), os.Symlink(driver, link)); err != nil {
		t.Fatal(err)
	}
	if _, ok := drivers.InMemory(0); ok {
		t.Error("an answer although the driver's file is gone")
	}
	library("libnvidia-opencl", "int another;\n")
	if _, ok := drivers.InMemory(0); ok {
		t.Error("an answer although another driver lies there")
	}
}
