package compare

import (
	"crypto/sha256"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kernstash/kernstash/key"
)

// TestManyChangesAreCounted, not listed.
func TestManyChangesAreCounted(t *testing.T) {
	t.Parallel()
	recipe := func(content string) *key.Recipe {
		u := key.Unit{Kind: key.OpenCLC, Code: []byte("code")}
		for i := range 10 {
			name := "<" + string(rune('a'+i)) + ".h>"
			u.Includes = append(u.Includes, key.Include{Name: name, File: i})
			u.Files = append(u.Files, key.File{Path: "/" + name, Digest: sha256.Sum256([]byte(content)), Size: 1})
		}
		img, err := new(key.Image).Tracked([]key.Unit{u})
		if err != nil {
			t.Fatal(err)
		}
		return &key.Recipe{Image: img}
	}
	now, was := recipe("2"), recipe("1")
	changes := compareFiles(&now.Image.Units()[0], &was.Image.Units()[0])
	if len(changes) != 10 || changes[9] != `header "j.h" (/<j.h>) differs` {
		t.Errorf("%q", changes)
	}
	want := `header "a.h" (/<a.h>) differs; header "b.h" (/<b.h>) differs; ` +
		`header "c.h" (/<c.h>) differs; header "d.h" (/<d.h>) differs; and 6 more`
	if d, near := Recipes(now, was); !near || d.Text != want {
		t.Errorf("%v, %s", near, d.Text)
	}
}

// TestFilesThatWereWatched: what a compiler was seen to read is told by its path, which is its name.
func TestFilesThatWereWatched(t *testing.T) {
	t.Parallel()
	unit := func(content, name string) *key.Unit {
		return &key.Unit{
			Kind: key.Opaque, Code: []byte("code"), Includes: []key.Include{{Name: "/usr/k.h", File: 0}, {Name: name, File: 1}},
			Files: []key.File{{Path: "/usr/k.h", Digest: sha256.Sum256([]byte(content)), Size: 1}, {Path: name, Size: 1}},
		}
	}
	want := []string{"file /usr/k.h differs", "file /usr/b.h is new", "file /usr/a.h is gone"}
	if d := cmp.Diff(want, compareFiles(unit("2", "/usr/b.h"), unit("1", "/usr/a.h"))); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
}
