//go:build !nogpu

package opencl_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kernstash/kernstash"
	"github.com/kernstash/kernstash/gpu/opencl"
	"github.com/kernstash/kernstash/key"
	"github.com/kernstash/kernstash/stats"
)

func init() { children["popcount"] = popcountChild }

// put writes a file, and the directories that it is in.
func put(t *testing.T, path, content string) {
	t.Helper()
	if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte(content), 0o700)); err != nil {
		t.Fatal(err)
	}
}

// What PoCL compiles with is in its identity, wherever it lies, and a change while the
// process runs is seen.
func TestWhatPoCLCompilesWith(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	library, share := filepath.Join(dir, "lib/x/libpocl.so.2"), filepath.Join(dir, "share/pocl")
	header, bitcode := filepath.Join(share, "include/deep/_kernel.h"), filepath.Join(share, "kernel-x.bc")
	ld, other := filepath.Join(dir, "ld"), filepath.Join(dir, "other")
	put(t, library, "")
	put(t, header, "int popcount(int);\n")
	put(t, bitcode, "BC")
	system, err := exec.LookPath("ld")
	if err != nil {
		t.Fatal(err)
	}
	program, err := os.ReadFile(system)
	if err != nil {
		t.Fatal(err)
	}
	put(t, filepath.Join(ld, "ld"), string(program)+"changed")
	put(t, filepath.Join(other, "ls"), "")
	path := func(dirs ...string) []string {
		return []string{"PATH=" + strings.Join(append(dirs, filepath.Dir(system)), string(filepath.ListSeparator))}
	}
	find := func(environ []string) []key.Pair {
		t.Helper()
		pairs, _, err := opencl.PoCLFiles(library, environ)
		if err != nil {
			t.Fatal(err)
		}
		return pairs
	}
	first := find(path())
	for _, c := range []struct {
		name   string
		change func()
		path   []string
		same   bool
	}{
		{"nothing", func() {}, path(), true},
		{"a directory of PATH without a linker", func() {}, path(other, "", filepath.Join(dir, "none")), true},
		{"another linker", func() {}, path(ld), false},
		{"a header", func() { put(t, header, "#define popcount(x) 77\n") }, path(), false},
		{"as it was", func() { put(t, header, "int popcount(int);\n") }, path(), true},
		{"a kernel library", func() { put(t, bitcode, "CB") }, path(), false},
		{"one more header", func() { put(t, bitcode, "BC"); put(t, filepath.Join(share, "include/new.h"), "") }, path(), false},
	} {
		c.change()
		if got := find(c.path); cmp.Equal(got, first) != c.same {
			t.Errorf("%s: %v, at first %v", c.name, got, first)
		}
	}

	for _, c := range []struct {
		name   string
		change func()
		path   []string
		moved  bool
	}{
		{"nothing", func() {}, path(), false},
		{"another linker", func() {}, path(ld), true},
		{"a linker at a place that was searched", func() { put(t, filepath.Join(other, "ld"), string(program)) }, path(other), true},
		{"a header", func() { put(t, header, "#define popcount(x) 77\n") }, path(), true},
		{"a file more", func() { put(t, filepath.Join(share, "kernel-y.bc"), "") }, path(), true},
		{"a kernel library gone", func() { _ = os.Remove(bitcode) }, path(), true},
	} {
		_, steady, err := opencl.PoCLFiles(library, path())
		if err != nil {
			t.Fatal(err)
		}
		c.change()
		if err := steady(c.path); (err != nil) != c.moved {
			t.Errorf("%s: %v", c.name, err)
		}
		if err := steady(path()); (err != nil) != c.moved {
			t.Errorf("%s, later: %v", c.name, err)
		}
	}

	// What nobody can tell is not cacheable.
	put(t, filepath.Join(dir, "script/ld"), "#!/bin/sh\nexec ld.other \"$@\"\n")
	for name, environ := range map[string][]string{"a script": path(filepath.Join(dir, "script")), "a relative directory": {"PATH=."}} {
		if name == "a relative directory" {
			if _, err := os.Stat("ld"); errors.Is(err, fs.ErrNotExist) {
				continue
			}
		}
		if pairs, _, err := opencl.PoCLFiles(library, environ); err == nil {
			t.Errorf("the linker is %s: %v", name, pairs)
		}
	}
	if pairs, _, err := opencl.PoCLFiles("libpocl.so.2", path()); err == nil {
		t.Errorf("opened from the working directory: %v", pairs)
	}
}

func TestPoCLThatIsBeingBuiltIsNotCached(t *testing.T) {
	t.Parallel()
	p := &opencl.Platform{Suffix: "POCL"}
	for _, c := range []struct{ variable, want string }{
		{"POCL_BUILDING=1", "POCL_BUILDING"}, {"COMPILER_PATH=/opt", "COMPILER_PATH"}, {"POCL_BUILDING=0", ""}, {"PATH=/opt", ""},
	} {
		err := p.ReadsIn([]string{c.variable})
		if (err != nil) != (c.want != "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", c.variable, err, c.want)
		}
	}
	if diff := cmp.Diff([]string{"LDEMULATION=x", "LIBRARY_PATH=/opt"}, p.ObeysIn([]string{"LIBRARY_PATH=/opt", "LDEMULATION=x", "PATH=/opt"})); diff != "" {
		t.Error(diff)
	}
}

// A copy of PoCL whose header is changed between processes: what was compiled with the old one
// is not served.
func TestAPatchedHeaderOfPoCLIsNoHit(t *testing.T) {
	t.Parallel()
	driver := poclCopy(t)
	header := filepath.Join(filepath.Dir(filepath.Dir(filepath.Dir(driver))), "share/pocl/include/_kernel.h")
	before, err := os.ReadFile(header)
	if err != nil {
		t.Fatal(err)
	}
	icd := filepath.Join(t.TempDir(), "pocl.icd")
	put(t, icd, driver+"\n")
	root := filepath.Join(t.TempDir(), "root")
	run := func() string {
		return child(t, "popcount", rootVariable+"="+root, "OCL_ICD_VENDORS="+icd, "POCL_CACHE_DIR="+t.TempDir())
	}
	for i, want := range []string{"3 compiled", "3 found"} {
		if got := run(); got != want {
			t.Fatalf("start %d: %s, want %s", i, got, want)
		}
	}
	put(t, header, string(before)+"\n#undef popcount\n#define popcount(x) 77\n")
	if got := run(); got != "77 compiled" {
		t.Errorf("with another header: %s", got)
	}
}

// poclCopy returns the path of a copy of PoCL's library, in a tree of its own.
func poclCopy(t *testing.T) string {
	t.Helper()
	icd, err := os.ReadFile(os.Getenv("OCL_ICD_VENDORS"))
	if err != nil {
		t.Fatal(err)
	}
	var library string
	for _, dir := range []string{"/usr/lib/x86_64-linux-gnu", "/usr/lib/aarch64-linux-gnu"} {
		if path := filepath.Join(dir, filepath.Base(strings.TrimSpace(string(icd)))); exists(path) {
			library = path
		}
	}
	if library == "" {
		t.Fatalf("PoCL's library is not where Debian has it: %s", icd)
	}
	tree := t.TempDir()
	own := filepath.Join(tree, "lib/x")
	if err := errors.Join(os.MkdirAll(own, 0o700), os.MkdirAll(filepath.Join(tree, "share"), 0o700)); err != nil {
		t.Fatal(err)
	}
	for from, to := range map[string]string{
		library: own, filepath.Join(filepath.Dir(library), "pocl"): own, "/usr/share/pocl": filepath.Join(tree, "share"),
	} {
		if out, err := exec.Command("cp", "-rL", from, to).CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
	}
	return filepath.Join(own, filepath.Base(library))
}

func popcountChild() error {
	d, err := firstDevice("POCL")
	if err != nil {
		return err
	}
	cache, c, q, done, err := openCached(os.Getenv(rootVariable), d)
	if err != nil {
		return err
	}
	image, err := kernstash.NewImage(key.OpenCLC, []byte("kernel void count(global int *a) { a[0] = popcount(a[0]); }"))
	if err != nil {
		return err
	}
	k, err := c.Kernel(context.Background(), kernstash.Request{Image: image}, "count")
	if err != nil {
		return err
	}
	b, err := c.NewBuffer(opencl.ReadWrite, 4)
	if err != nil {
		return err
	}
	got := []int32{7}
	err = errors.Join(q.Write(b, 0, opencl.Bytes(got)), k.Launch(q, []int{1}, []int{1}, b), q.Read(b, 0, opencl.Bytes(got)))
	if err := errors.Join(err, b.Release()); err != nil {
		return err
	}
	k.Release()
	if err := done(); err != nil {
		return err
	}
	how := "compiled"
	if cache.Stats().Get(stats.DiskHits) == 1 {
		how = "found"
	}
	fmt.Print(got[0], " ", how)
	return nil
}

// What a request costs that is looked for on disk, beyond the rest: stats.
func BenchmarkPoCLSteady(b *testing.B) {
	d, err := firstDevice("POCL")
	if err != nil {
		b.Fatal(err)
	}
	if _, err := d.Identify(); err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := d.SteadyVariables(); err != nil {
			b.Fatal(err)
		}
	}
}
