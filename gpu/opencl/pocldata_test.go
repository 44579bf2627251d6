//go:build !nogpu

package opencl_test

import (
	"context"
	"errors"
	"fmt"
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
