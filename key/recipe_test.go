package key

import (
	"crypto/sha256"
	"strings"
	"testing"
)

// TestWithoutPlaces: the recipe has the same key, and names no place but those that are in the key.
func TestWithoutPlaces(t *testing.T) {
	t.Parallel()
	unit := func(code, dir string) Unit {
		return Unit{
			Kind: OpenCLC, Code: []byte(code), Includes: []Include{{Name: `"a.h"`, File: 0}, {Name: "<b.h>", File: 1}}, Dir: dir,
			Files: []File{{Path: "/home/somebody/a.h", Digest: sha256.Sum256([]byte("a")), Size: 1}, {Path: "/opt/b.h", Digest: sha256.Sum256([]byte("b")), Size: 1}},
		}
	}
	for name, tt := range map[string]struct {
		units []Unit
		kept  bool // a path is in the key
	}{
		"no path in the key": {[]Unit{unit("one", ""), unit("two", "")}, false},
		"paths in the key":   {[]Unit{unit("one", ""), unit("two", "/home/somebody/work")}, true},
		"no file":            {[]Unit{{Kind: OpenCLC, Code: []byte("x")}}, false},
	} {
		img, err := new(Image).Tracked(tt.units)
		if err != nil {
			t.Fatal(err)
		}
		r := &Recipe{Image: img, Options: BuildOptions{
			Compile: []string{"-DX"}, Search: []string{"-I", "/home/somebody"}, Unkeyed: []Pair{{"name", "/home/somebody/x"}},
		}}
		before := string(r.Append(nil))
		got, err := r.WithoutPlaces()
		if err != nil {
			t.Fatal(err)
		}
		if got.Key() != r.Key() {
			t.Errorf("%s: another key", name)
		}
		if string(r.Append(nil)) != before {
			t.Errorf("%s: it was changed", name)
		}
		if kept := strings.Contains(string(got.Append(nil)), "somebody"); kept != tt.kept {
			t.Errorf("%s: it names a place: %v, want %v", name, kept, tt.kept)
		}
		if len(got.Options.Search)+len(got.Options.Unkeyed) > 0 || len(got.Options.Compile) != 1 {
			t.Errorf("%s: options %+v", name, got.Options)
		}
	}
}
