package deps

import (
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"
)

// What a walk says of a path is what a look at the path alone says, in whatever order
// the paths come: through links, missing directories, files in the place of directories,
// and directories that nobody may search.
func TestWalkSaysWhatALookSays(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for name, content := range map[string]string{
		"a/one.h": "1", "a/two.h": "22", "a/b/one.h": "333", "a/b/c/deep.h": "4444", "ab/one.h": "5", "file": "6",
	} {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for link, to := range map[string]string{
		"link": "a/b", "a/up": "..", "loop": "loop", "hanging": "nowhere", "a/link.h": "b/one.h", "a/b/root": dir,
	} {
		if err := os.Symlink(to, filepath.Join(dir, link)); err != nil {
			t.Fatal(err)
		}
	}
	var dirs, paths []string
	for _, d := range []string{
		"", "/a", "/a/b", "/a/b/c", "/ab", "/link", "/link/c", "/a/up", "/a/up/a/b", "/loop", "/hanging", "/none", "/none/none",
		"/file", "/a/b/root/a", "/a/b/..", "/a/b/../b", "/link/..", "/a/.", "/a//b",
	} {
		dirs = append(dirs, dir+d)
	}
	for _, d := range append(dirs, "", "/") {
		for _, name := range []string{"one.h", "two.h", "deep.h", "b", "up", "link", "link.h", "none", "file", ".", "..", "loop", ""} {
			paths = append(paths, d+"/"+name)
		}
	}
	check := func(w *walker, path string) {
		t.Helper()
		k, st, err := w.look(path)
		wantKind, wantStamp, wantErr := look(path)
		if k != wantKind || st != wantStamp || (err == nil) != (wantErr == nil) {
			t.Errorf("%s: %v %v %v instead of %v %v %v", path, k, st, err, wantKind, wantStamp, wantErr)
		}
		at, err := w.lookAt(path)
		wantAt, wantErr := lookAt(path)
		if at != wantAt || (err == nil) != (wantErr == nil) {
			t.Errorf("%s itself: %v %v instead of %v %v", path, at, err, wantAt, wantErr)
		}
	}
	w := newWalker()
	for _, path := range paths {
		check(w, path)
	}
	random := rand.New(rand.NewPCG(1, 2))
	for range 20_000 {
		check(w, paths[random.IntN(len(paths))])
	}
	if len(w.open) > deepest {
		t.Errorf("%d directories are open", len(w.open))
	}
	w.close()
	// A directory that was there is another when the next walk comes.
	if err := os.Rename(dir+"/a", dir+"/was"); err != nil {
		t.Fatal(err)
	}
	w = newWalker()
	defer w.close()
	for _, path := range paths {
		check(w, path)
	}
}

// A walk gives its directories back, and goes deeper than it keeps them open.
func TestWalkKeepsFewDirectories(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	w := newWalker()
	defer w.close()
	for range 3 * deepest {
		dir += "/d"
		if err := os.Mkdir(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(dir+"/h", nil, 0o600); err != nil {
			t.Fatal(err)
		}
		if k, _, err := w.look(dir + "/h"); k != regular || err != nil {
			t.Fatal(k, err)
		}
		if len(w.open) > deepest {
			t.Fatalf("%d directories are open", len(w.open))
		}
	}
}

// BenchmarkWalk looks at files that lie deep, one by one and by a walk.
func BenchmarkWalk(b *testing.B) {
	dir := b.TempDir() + "/a/library/of/many/headers"
	var paths []string
	for _, sub := range []string{"/detail", "/detail/impl", "/detail/impl/x", "/other"} {
		if err := os.MkdirAll(dir+sub, 0o700); err != nil {
			b.Fatal(err)
		}
		for i := range 50 {
			path := dir + sub + "/" + string(rune('a'+i%26)) + string(rune('a'+i/26)) + ".h"
			if err := os.WriteFile(path, nil, 0o600); err != nil {
				b.Fatal(err)
			}
			paths = append(paths, path)
		}
	}
	for name, how := range map[string]system{"apart": {look: look, lookAt: lookAt}, "walk": {beneath: true}} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				w := how.walk()
				for _, path := range paths {
					if k, _, err := w.look(path); k != regular || err != nil {
						b.Fatal(k, err)
					}
				}
				w.close()
			}
		})
	}
}
