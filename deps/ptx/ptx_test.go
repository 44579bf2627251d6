package ptx_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kernstash/kernstash/deps/ptx"
	"github.com/kernstash/kernstash/key"
)

func TestFiles(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path := filepath.Join(dir, "a.cu")
	if err := os.WriteFile(path, []byte("12345"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Chtimes(path, time.Time{}, time.Unix(7, 8)); err != nil {
		t.Fatal(err)
	}
	absent := filepath.Join(dir, "b.cu")
	for name, c := range map[string]struct {
		code string
		want []string // nil: it is not understood
	}{
		"none":          {".version 8.0\n.entry k() { ret; }\n", []string{}},
		"one":           {".file 1 \"" + path + "\"\n", []string{path + ": 7000000008 ns, 5 bytes"}},
		"with a stamp":  {".file\t2 \"" + absent + "\", 1700000000, 12\n", []string{absent + ": absent"}},
		"twice":         {".file 1 \"" + absent + "\"\n.file 2 \"" + absent + "\"\n", []string{absent + ": absent"}},
		"no place":      {".file 1 \"" + path + "/x\"\n", []string{path + "/x: not to be seen"}},
		"escaped":       {".file 1 \"a\\\"b\"\n", nil},
		"across lines":  {".file 1\n\"a\"\n", nil},
		"another .file": {".file \"a\"\n", nil},
	} {
		got, err := ptx.Files([]byte(c.code))
		if (err == nil) != (c.want != nil) {
			t.Errorf("%s: %v", name, err)
			continue
		}
		for i, f := range got {
			if i >= len(c.want) || f != (key.Pair{Name: "file", Value: c.want[i]}) {
				t.Errorf("%s: %v", name, cmp.Diff(c.want, got))
			}
		}
		if err == nil && len(got) != len(c.want) {
			t.Errorf("%s: %v, want %q", name, got, c.want)
		}
	}
}

func FuzzFiles(f *testing.F) {
	f.Add([]byte(".file 1 \"a.cu\"\n"))
	f.Add([]byte(".file .file 1 \"\x00\"\n"))
	f.Fuzz(func(t *testing.T, code []byte) {
		files, err := ptx.Files(code)
		if n := strings.Count(string(code), ".file"); err == nil && len(files) > n || err == nil && n > 0 && len(files) == 0 {
			t.Errorf("%d directives, %d files", n, len(files))
		}
	})
}
