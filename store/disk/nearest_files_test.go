//go:build linux

package disk

import (
	"crypto/sha256"
	"strings"
	"testing"

	"github.com/kernstash/kernstash/key"
	"github.com/kernstash/kernstash/reason"
	"github.com/kernstash/kernstash/store"
	"github.com/kernstash/kernstash/store/storetest"
)

// tree is a unit in the making.
type tree struct{ key.Unit }

func newTree(includes ...key.Include) *tree {
	return &tree{key.Unit{Kind: key.OpenCLC, Code: []byte("code"), Includes: includes}}
}

func (u *tree) file(path, content string, includes ...key.Include) *tree {
	d := key.Digest(sha256.Sum256([]byte(content)))
	u.Files = append(u.Files, key.File{Path: path, Digest: d, Size: int64(len(content)), Includes: includes})
	return u
}

func (u *tree) in(dir string) *tree { u.Dir = dir; return u }

func to(name string, file int) key.Include { return key.Include{Name: name, File: file} }

// TestNearestNamesHeaders: the header is named by its name and its place, three
// levels deep or hidden by another.
func TestNearestNamesHeaders(t *testing.T) {
	t.Parallel()
	base := func() *tree {
		return newTree(to(`"a.h"`, 0), to(`<none.h>`, -1)).
			file("/i/a.h", "a", to(`"b.h"`, 1)).file("/i/b.h", "b", to(`<c.h>`, 2)).file("/i/c.h", "c")
	}
	tests := map[string]struct {
		was, now *tree
		text     string // "" for no difference
	}{
		"three levels deep": {base(), newTree(to(`"a.h"`, 0), to(`<none.h>`, -1)).
			file("/i/a.h", "a", to(`"b.h"`, 1)).file("/i/b.h", "b", to(`<c.h>`, 2)).file("/i/c.h", "C"), `header "c.h" (/i/c.h) differs`},
		"appears": {base(), newTree(to(`"a.h"`, 0), to(`<none.h>`, 3)).
			file("/i/a.h", "a", to(`"b.h"`, 1)).file("/i/b.h", "b", to(`<c.h>`, 2)).file("/i/c.h", "c").file("/i/none.h", "n"), `header "none.h" (/i/none.h) is new`},
		"appears earlier": {base(), newTree(to(`"a.h"`, 0), to(`<none.h>`, -1)).
			file("/i/a.h", "a", to(`"b.h"`, 1)).file("/early/b.h", "other"), `include of "b.h" leads to /early/b.h, not /i/b.h`},
		"disappears": {base(), newTree(to(`"a.h"`, 0), to(`<none.h>`, -1)).
			file("/i/a.h", "a", to(`"b.h"`, 1)).file("/i/b.h", "b", to(`<c.h>`, -1)), `header "c.h" (/i/c.h) is gone`},
		"a line more": {base(), newTree(to(`"a.h"`, 0), to(`<none.h>`, -1)).
			file("/i/a.h", "A", to(`"d.h"`, 1), to(`"b.h"`, 2)).file("/i/d.h", "d").file("/i/b.h", "b", to(`<c.h>`, 3)).file("/i/c.h", "c"), `header "a.h" (/i/a.h) differs`},
		"a line less": {base(), newTree(to(`"a.h"`, 0)).
			file("/i/a.h", "a", to(`"b.h"`, 1)).file("/i/b.h", "B"), `include of "none.h", which is not there, is gone; header "b.h" (/i/b.h) differs`},
		"one name twice": {
			newTree(to("<p.h>", 0), to("<p.h>", 1)).file("/1/p.h", "1").file("/2/p.h", "2"),
			newTree(to("<p.h>", 0), to("<p.h>", 1)).file("/1/p.h", "1").file("/2/p.h", "3"), `header "p.h" (/2/p.h) differs`,
		},
		"a circle": {
			newTree(to("<p.h>", 0)).file("/p.h", "1", to("<p.h>", 0)),
			newTree(to("<p.h>", 0)).file("/p.h", "2", to("<p.h>", 0)), `header "p.h" (/p.h) differs`,
		},
		"elsewhere where that counts": {
			newTree(to("<p.h>", 0)).file("/1/p.h", "1").in("/1"), newTree(to("<p.h>", 0)).file("/2/p.h", "1").in("/2"),
			`working directory "/2" was "/1"; include of "p.h" leads to /2/p.h, not /1/p.h`,
		},
		"paths begin to count": {
			newTree(to("<p.h>", 0)).file("/p.h", "1"), newTree(to("<p.h>", 0)).file("/p.h", "1").in("/d"),
			`it depends on paths now, those below /d`,
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			recipe := func(u *tree) *key.Recipe {
				img, err := new(key.Image).Tracked([]key.Unit{u.Unit})
				must(t, err)
				return &key.Recipe{Device: storetest.Device(), Image: img}
			}
			s := open(t)
			was, now := recipe(test.was), recipe(test.now)
			put(t, s, storetest.Entry(was, "e", 100), store.Stored)
			for _, hint := range []key.Digest{{}, was.Image.Digest(), {1}} {
				d, err := s.Nearest(bg, now, hint)
				must(t, err)
				if d.Reason != reason.NearestHeader || d.Text != test.text || d.Key != was.Key() {
					t.Errorf("%v: %s\nwant %s", d.Reason, d.Text, test.text)
				}
			}
		})
	}
}

// TestNearestIsFoundInACrowd: where it is known what the image was, no number of
// other images hides it.
func TestNearestIsFoundInACrowd(t *testing.T) {
	t.Parallel()
	s := open(t)
	recipe := func(code, header string) *key.Recipe {
		u := newTree(to("<p.h>", 0)).file("/p.h", header).Unit
		u.Code = []byte(code)
		img, err := new(key.Image).Tracked([]key.Unit{u})
		must(t, err)
		return &key.Recipe{Device: storetest.Device(), Image: img}
	}
	for i := range 3 * maxNearDirs {
		put(t, s, storetest.Entry(recipe(strings.Repeat(string(rune('a'+i%26)), 40+i), "1"), "x", 100), store.Stored)
	}
	was := recipe("code", "1")
	put(t, s, storetest.Entry(was, "e", 100), store.Stored)
	d, err := s.Nearest(bg, recipe("code", "2"), was.Image.Digest())
	if err != nil || d.Reason != reason.NearestHeader || d.Key != was.Key() {
		t.Errorf("%+v, %v", d, err)
	}
}
