//go:build linux

package drivers_test

import (
	"os"
	"os/exec"
	"path/filepath"
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
