package deps

import (
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/kernstash/kernstash/deps/flags"
	"github.com/kernstash/kernstash/key"
)

func TestSearchPath(t *testing.T) {
	t.Parallel()
	_, _, options, _ := flags.ParseSearch(key.Tokens("-idirafter e -isystem d -Ib -iquote a -I/c"))
	s := Search{Dir: "/w", First: []string{"/first"}, Last: []string{"/last"}, System: []string{"/usr/include"}}
	got, quotes, systems := s.path(options)
	want := []string{"/w/a", "/first", "/w/b", "/c", "/last", "/w/d", "/usr/include", "/w/e"}
	if diff := gocmp.Diff(want, got); diff != "" || quotes != 1 || systems != 3 {
		t.Errorf("quotes %d, systems %d; path (-want +got):\n%s", quotes, systems, diff)
	}
}

// A first key differs where anything differs that decides which files are read.
func TestFirstKey(t *testing.T) {
	t.Parallel()
	u := key.Unit{Kind: key.OpenCLC, Code: []byte("#include <a.h>")}
	s := Search{Dir: "/w", Main: "/m", First: []string{"/f"}, Last: []string{"/l"}, System: []string{"/s"}}
	words := []string{"-DX", "-Ia"}
	seen := make(map[key.Digest]string)
	add := func(what string, device key.Digest, u key.Unit, words []string, s Search) {
		k := FirstKey(device, u, words, s)
		if other, ok := seen[k]; ok {
			t.Errorf("%s has the same key as %s", what, other)
		}
		if k != FirstKey(device, u, words, s) {
			t.Errorf("%s has two keys", what)
		}
		seen[k] = what
	}
	add("the unit", key.Digest{}, u, words, s)
	add("another device", key.Digest{1}, u, words, s)
	add("another kind", key.Digest{}, key.Unit{Kind: key.CUDACpp, Code: u.Code}, words, s)
	add("other code", key.Digest{}, key.Unit{Kind: u.Kind, Code: []byte("#include <b.h>")}, words, s)
	add("a header", key.Digest{}, key.Unit{Kind: u.Kind, Code: u.Code, Headers: []key.Header{{Name: "a.h"}}}, words, s)
	add("another macro", key.Digest{}, u, []string{"-DY", "-Ia"}, s)
	add("another order", key.Digest{}, u, []string{"-Ia", "-DX"}, s)
	add("joined words", key.Digest{}, u, []string{"-DX-Ia"}, s)
	for what, change := range map[string]func(*Search){
		"another working directory":  func(s *Search) { s.Dir = "/x" },
		"another place of the code":  func(s *Search) { s.Main = "/x" },
		"another first directory":    func(s *Search) { s.First = []string{"/x"} },
		"another last directory":     func(s *Search) { s.Last = []string{"/x"} },
		"another system's directory": func(s *Search) { s.System = []string{"/x"} },
		"first as last":              func(s *Search) { s.First, s.Last = nil, []string{"/f", "/l"} },
	} {
		other := s
		change(&other)
		add(what, key.Digest{}, u, words, other)
	}
}
