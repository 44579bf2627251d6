//go:build linux

package drivers_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kernstash/kernstash/internal/dl"
	"github.com/kernstash/kernstash/internal/drivers"
	"github.com/kernstash/kernstash/internal/elfid"
)

// What compiles for a driver that nobody has looked at may be in any library that it is
// linked with. (Oclgrind's driver is linked with liboclgrind, and that with LLVM.)
func TestCompilersOfADriver(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	library := func(name string, flags ...string) string {
		t.Helper()
		source, to := filepath.Join(dir, name+".c"), filepath.Join(dir, name+".so")
		if err := os.WriteFile(source, []byte("int "+name+";\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		args := append([]string{"-shared", "-fPIC", "-Wl,--no-as-needed,-soname," + name + ".so,-rpath," + dir, "-o", to, source}, flags...)
		if out, err := exec.Command("cc", args...).CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		return to
	}
	llvm := library("libLLVM_of_this_test")
	back := library("libback_of_this_test", llvm)
	for _, c := range []struct {
		driver string
		want   []string
	}{
		{"libnobody_knows", []string{"libLLVM_of_this_test.so", "libback_of_this_test.so", "libnobody_knows.so"}},
		// Known, by the name of its file, to be linked with compilers itself.
		{"libRusticlOpenCL", []string{"libRusticlOpenCL.so"}},
	} {
		driver := library(c.driver, back, "-lm")
		if _, err := dl.Open(driver); err != nil {
			t.Fatal(err)
		}
		pairs, err := drivers.Compilers(elfid.Loaded(), driver)
		if err != nil {
			t.Fatal(err)
		}
		var names []string
		for _, p := range pairs {
			names = append(names, p.Name)
		}
		if diff := cmp.Diff(c.want, names); diff != "" {
			t.Errorf("%s: %s", c.driver, diff)
		}
	}
}

// A driver as NVIDIA's is loaded through a link. What compiles for it lies beside its file,
// loaded or not.
func TestCompanionsBesideADriver(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	library := func(name string) (path string) {
		t.Helper()
		source, path := filepath.Join(dir, name+".c"), filepath.Join(dir, name+".so.580.1")
		if err := os.WriteFile(source, []byte("int "+name[3:6]+";\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		out, err := exec.Command("cc", "-shared", "-fPIC", "-Wl,-soname,"+name+".so.1", "-o", path, source).CombinedOutput()
		if err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		return path
	}
	library("libnvidia-nvvm70")
	library("libnvidia-ptxjitcompiler")
	library("libcuda")
	link := filepath.Join(dir, "libnvidia-opencl.so.1")
	if err := os.Symlink(library("libnvidia-opencl"), link); err != nil {
		t.Fatal(err)
	}
	if _, err := dl.Open(link); err != nil {
		t.Fatal(err)
	}
	m := elfid.Loaded()
	loaded := m.Named(func(base string) bool { return base == "libnvidia-opencl.so.580.1" })
	i := slices.IndexFunc(loaded, func(path string) bool { return filepath.Dir(path) == dir })
	if i < 0 {
		t.Fatalf("the driver is not among %q", loaded)
	}
	pairs, err := drivers.Compilers(m, loaded[i])
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, p := range pairs {
		names = append(names, p.Name)
	}
	if diff := cmp.Diff([]string{"libcuda.so.1", "libnvidia-nvvm70.so.1", "libnvidia-opencl.so.1", "libnvidia-ptxjitcompiler.so.1"}, names); diff != "" {
		t.Error(diff)
	}
}
