package headers

import (
	"log/slog"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/kernstash/kernstash/deps"
	"github.com/kernstash/kernstash/key"
	"github.com/kernstash/kernstash/stats"
	"github.com/kernstash/kernstash/store"
)

// What was built with a precompiled header file is of the header files as they are if none has
// changed since the file was made, not even within a second, and it is the same file.
func TestPrecompiled(t *testing.T) {
	t.Parallel()
	for what, c := range map[string]struct {
		change func(t *testing.T, include, pch string)
		fit    bool
	}{
		"nothing": {func(*testing.T, string, string) {}, true},
		"a header": {func(t *testing.T, include, _ string) {
			info, err := os.Stat(filepath.Join(include, "b/n.h"))
			if err != nil {
				t.Fatal(err)
			}
			write(t, filepath.Join(include, "b/n.h"), "#define N 42\n")
			if err := os.Chtimes(filepath.Join(include, "b/n.h"), info.ModTime(), info.ModTime()); err != nil {
				t.Fatal(err)
			}
		}, false},
		"a header earlier on the path": {func(t *testing.T, include, _ string) { write(t, filepath.Join(include, "a/n.h"), "#define N 42\n") }, false},
		"the file":                     {func(t *testing.T, _, pch string) { write(t, pch, "another") }, false},
		"no file":                      {func(t *testing.T, _, pch string) { os.Remove(pch) }, false},
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			include, pch := filepath.Join(dir, "include"), filepath.Join(dir, "k.pch")
			for _, d := range []string{"a", "b"} {
				if err := os.MkdirAll(filepath.Join(include, d), 0o700); err != nil {
					t.Fatal(err)
				}
			}
			write(t, filepath.Join(include, "b/n.h"), "#define N 41\n")
			write(t, pch, "precompiled")
			find := func(code string) *Set {
				t.Helper()
				img, err := key.NewImage(key.CUDACpp, []byte("#include <n.h>\n"+code))
				if err != nil {
					t.Fatal(err)
				}
				f := NewFinder(Options{
					Recorder: stats.Noop{}, Keep: func(key.Digest, []byte) {}, Warn: func(string, ...any) {},
					Keys: slog.New(slog.DiscardHandler), Disk: slog.New(slog.DiscardHandler),
				})
				s := f.Find(Query{Image: img, Reads: []bool{true}, Words: []string{"-I" + include + "/a", "-I" + include + "/b"}, Search: deps.Search{Dir: dir}}, true)
				if !s.Uncacheable.None() {
					t.Fatal(s.Uncacheable)
				}
				s.Watch()
				return s
			}
			var p Precompiled
			made := &store.Artifact{Precompiled: store.Precompiled{Made: []string{pch}}}
			used := &store.Artifact{Precompiled: store.Precompiled{Used: []string{pch}}}
			if why := p.Unfit(find("int a;"), used); why == "" {
				t.Error("a file of another process is believed")
			}
			if why := p.Unfit(find("int a;"), made); why != "" {
				t.Error(why)
			}
			time.Sleep(20 * time.Millisecond) // a file system may tell times no closer apart
			c.change(t, include, pch)
			if why := p.Unfit(find("int b;"), used); (why == "") != c.fit {
				t.Errorf("%q", why)
			}
			if why := p.Unfit(find("int b;"), new(store.Artifact)); why != "" {
				t.Errorf("without precompiled header files: %q", why)
			}
		})
	}
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}
