package frameworks

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// file is one that a framework has kept: so many blocks, last used so long ago.
type file struct {
	path   string // below .meta/frameworks
	blocks int
	age    time.Duration
}

const hour, day = time.Hour, 24 * time.Hour

// layouts are those of JAX 0.11, of DPC++ 2025 and of comgr 3.
var layouts = []file{
	{"jax/jit_f-1111-cache", 4, 10 * day},
	{"jax/jit_g-2222-cache", 2, 40 * day},
	{"jax/jit_h-3333-cache", 3, hour},
	{"jax/jit_h-3333-atime", 1, 2 * hour},
	{"jax/jit_i-4444-cache", 1, 50 * day}, // used an hour and a half ago, which JAX notes beside
	{"jax/jit_i-4444-atime", 1, 90 * time.Minute},
	{"dpcpp/17/42/7/9/0.bin", 5, 20 * day},
	{"dpcpp/17/42/7/9/0.src", 2, 3 * day},
	{"dpcpp/17/42/7/9/1.bin", 1, 35 * day},
	{"dpcpp/17/42/7/9/1.src", 1, 35 * day},
	{"dpcpp/17/43/7/9/0.bin", 1, 60 * day}, // being written: the lock is young
	{"dpcpp/17/43/7/9/0.lock", 0, 10 * time.Minute},
	{"comgr/llvmcache-AB", 6, 5 * day},
	{"comgr/llvmcache-CD", 1, 10 * time.Second},
}

// keep makes the files below a root.
func keep(t *testing.T, now time.Time, files []file) (root string) {
	t.Helper()
	root = t.TempDir()
	for _, f := range files {
		path := Dir(root, f.path)
		at := now.Add(-f.age)
		err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, make([]byte, f.blocks*block), 0o600), os.Chtimes(path, at, at))
		if err != nil {
			t.Fatal(err)
		}
	}
	return root
}

// left returns the files that are below a root.
func left(t *testing.T, root string) (files []string) {
	t.Helper()
	err := filepath.WalkDir(Dir(root, ""), func(path string, e fs.DirEntry, err error) error {
		if err == nil && !e.IsDir() {
			path, err = filepath.Rel(Dir(root, ""), path)
			files = append(files, path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

func TestLook(t *testing.T) {
	t.Parallel()
	now := time.Now()
	root := keep(t, now, layouts)
	got, err := Look(context.Background(), root)
	want := []Cache{
		{Name: "jax", Dir: root + "/.meta/frameworks/jax", Files: 6, Bytes: 12 * block, Used: now.Add(-hour)},
		{Name: "dpcpp", Dir: root + "/.meta/frameworks/dpcpp", Files: 6, Bytes: 10 * block, Used: now.Add(-10 * time.Minute)},
		{Name: "comgr", Dir: root + "/.meta/frameworks/comgr", Files: 2, Bytes: 7 * block, Used: now.Add(-10 * time.Second)},
	}
	if diff := cmp.Diff(want, got, cmpopts.EquateApproxTime(time.Second)); err != nil || diff != "" {
		t.Error(err, diff)
	}
	for _, empty := range []string{t.TempDir(), filepath.Join(t.TempDir(), "none")} {
		if got, err := Look(context.Background(), empty); len(got) > 0 || err != nil {
			t.Errorf("%v, %v", got, err)
		}
	}
}

func TestTrim(t *testing.T) {
	t.Parallel()
	gone := map[string][]string{ // by what it takes to remove them, in the order of their use
		"i": {"jax/jit_i-4444-atime", "jax/jit_i-4444-cache"},
		"g": {"jax/jit_g-2222-cache"},
		"1": {"dpcpp/17/42/7/9/1.bin", "dpcpp/17/42/7/9/1.src"},
		"f": {"jax/jit_f-1111-cache"},
		"c": {"comgr/llvmcache-AB"},
		"0": {"dpcpp/17/42/7/9/0.bin", "dpcpp/17/42/7/9/0.src"},
		"h": {"jax/jit_h-3333-atime", "jax/jit_h-3333-cache"},
	}
	for name, tt := range map[string]struct {
		limits Limits
		gone   string
	}{
		"nothing":                   {Limits{MaxSize: 29 * block}, ""},
		"no limit":                  {Limits{}, ""},
		"age":                       {Limits{MaxAge: 30 * day}, "g1"},
		"a block too much":          {Limits{MaxSize: 28 * block}, "g"},
		"three blocks":              {Limits{MaxSize: 26 * block}, "g1"},
		"more":                      {Limits{MaxSize: 20 * block}, "g1fc"},
		"age, then size":            {Limits{MaxAge: 30 * day, MaxSize: 24 * block}, "g1f"},
		"what was just used stays":  {Limits{MaxSize: 1}, "g1fc0ih"},
		"only said":                 {Limits{MaxSize: 1, DryRun: true}, ""},
		"the last hour and a half":  {Limits{MaxAge: 100 * time.Minute}, "g1fc0"},
		"the last hour and minutes": {Limits{MaxAge: 70 * time.Minute}, "g1fc0i"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			now := time.Now()
			root := keep(t, now, layouts)
			caches, err := Trim(context.Background(), root, tt.limits, now)
			if err != nil {
				t.Fatal(err)
			}
			var want []string
			for _, f := range layouts {
				want = append(want, f.path)
			}
			for _, c := range tt.gone {
				want = slices.DeleteFunc(want, func(path string) bool { return slices.Contains(gone[string(c)], path) })
			}
			slices.Sort(want)
			if diff := cmp.Diff(want, left(t, root)); diff != "" {
				t.Error(diff)
			}
			removed := 0
			for _, c := range caches {
				removed += c.Removed
			}
			if n := len(layouts) - len(want); removed != n && !tt.limits.DryRun || tt.limits.DryRun && removed != 11 {
				t.Errorf("%d files removed, by the report %d", n, removed)
			}
		})
	}
}

// TestWhereAccessIsNotedItCounts: what was written long ago and read today stays.
func TestWhereAccessIsNotedItCounts(t *testing.T) {
	t.Parallel()
	now := time.Now()
	root := keep(t, now, []file{{"jax/a-cache", 1, 60 * day}, {"jax/b-cache", 1, 40 * day}})
	if err := os.Chtimes(Dir(root, "jax/a-cache"), now.Add(-hour), now.Add(-60*day)); err != nil {
		t.Fatal(err)
	}
	if _, err := Trim(context.Background(), root, Limits{MaxSize: block}, now); err != nil {
		t.Fatal(err)
	}
	want := []string{"jax/a-cache"}
	if filepath.Separator == '/' && cmp.Diff(want, left(t, root)) != "" {
		t.Errorf("%v is left", left(t, root))
	}
}

// TestReaderKeepsWhatIsRemoved: a program that has a file open goes on reading it.
func TestReaderKeepsWhatIsRemoved(t *testing.T) {
	t.Parallel()
	now := time.Now()
	root := keep(t, now, []file{{"jax/a-cache", 3, day}})
	f, err := os.Open(Dir(root, "jax/a-cache"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := Clear(context.Background(), root, now, false); err != nil {
		t.Fatal(err)
	}
	b := make([]byte, 4*block)
	if n, _ := f.Read(b); n != 3*block || len(left(t, root)) > 0 {
		t.Errorf("%d bytes; left: %v", n, left(t, root))
	}
}

// TestClear: nothing is left, but the directories that are switched on; what lies beside stays.
func TestClear(t *testing.T) {
	t.Parallel()
	now := time.Now().Add(time.Hour) // so that no directory is new
	root := keep(t, now, append(layouts, file{"other/x", 1, 0}))
	outside := t.TempDir()
	if err := errors.Join(os.WriteFile(filepath.Join(outside, "mine"), nil, 0o600), os.Symlink(outside, Dir(root, "jax/link"))); err != nil {
		t.Fatal(err)
	}
	if _, err := Clear(context.Background(), root, now, false); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"jax/link", "other/x"}, left(t, root)); diff != "" {
		t.Error(diff)
	}
	if _, err := os.Stat(filepath.Join(outside, "mine")); err != nil {
		t.Error(err)
	}
	var dirs []string
	for _, pattern := range []string{"*", "*/*"} {
		found, _ := filepath.Glob(Dir(root, pattern))
		dirs = append(dirs, found...)
	}
	for i := range dirs {
		dirs[i] = strings.TrimPrefix(dirs[i], Dir(root, "")+"/")
	}
	if diff := cmp.Diff([]string{"comgr", "dpcpp", "jax", "other", "jax/link", "other/x"}, dirs); diff != "" {
		t.Error(diff)
	}
}

// TestCacheThatIsALink: where somebody has put a link out of the root in the place of the directory,
// nothing is removed behind it.
func TestCacheThatIsALink(t *testing.T) {
	t.Parallel()
	root, outside := t.TempDir(), t.TempDir()
	mine := filepath.Join(outside, "mine")
	err := errors.Join(os.MkdirAll(Dir(root, ""), 0o700), os.WriteFile(mine, nil, 0o600), os.Symlink(outside, Dir(root, "jax")))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Clear(context.Background(), root, time.Now(), false); err == nil {
		t.Error("it was cleared")
	}
	if err := Make(root, "jax"); err == nil {
		t.Error("it was made")
	}
	if _, err := os.Stat(mine); err != nil {
		t.Error(err)
	}
}

func TestMake(t *testing.T) {
	t.Parallel()
	root := filepath.Join(t.TempDir(), "a", "root")
	for range 2 {
		if err := Make(root, "jax"); err != nil {
			t.Fatal(err)
		}
	}
	for _, dir := range []string{root, Dir(root, ""), Dir(root, "jax")} {
		if info, err := os.Stat(dir); err != nil || info.Mode().Perm() != 0o700 {
			t.Errorf("%s: %v, %v", dir, info, err)
		}
	}
	if entries, err := os.ReadDir(Dir(root, "jax")); err != nil || len(entries) > 0 {
		t.Errorf("%v, %v", entries, err)
	}
	if err := os.WriteFile(Dir(root, "dpcpp"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := Make(root, "dpcpp"); err == nil {
		t.Error("a file is in the place of the directory, and it was made")
	}
	if err := Make("/proc/nowhere", "jax"); !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, syscall.EACCES) {
		t.Errorf("in /proc: %v", err)
	}
}

func TestDue(t *testing.T) {
	t.Parallel()
	now := time.Now()
	root := t.TempDir()
	if Due(root, now) {
		t.Error("nothing was ever switched on")
	}
	if err := Make(root, "jax"); err != nil {
		t.Fatal(err)
	}
	var got []bool
	for _, later := range []time.Duration{0, hour, 23 * hour, 25 * hour, 26 * hour, -48 * hour} {
		got = append(got, Due(root, now.Add(later)))
	}
	if diff := cmp.Diff([]bool{false, false, false, true, false, true}, got); diff != "" {
		t.Error(diff)
	}
}
