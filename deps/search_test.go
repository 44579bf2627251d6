package deps

import (
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/kernstash/kernstash/key"
)

func TestSplitSearch(t *testing.T) {
	t.Parallel()
	tests := []struct {
		options      string
		rest, search string // words, joined with |
		doubt        bool
	}{
		{"", "", "", false},
		{"-DX -I a -cl-mad-enable -Ib", "-DX|-cl-mad-enable", "-I|a|-Ib", false},
		{"-isystem a -iquoteb -idirafter c --include-path=d -w", "-w", "-isystem|a|-iquoteb|-idirafter|c|--include-path=d", false},
		{"--include-path d -w", "-w", "--include-path|d", false},
		{`-I "a" -w`, `-I|"a"|-w`, "", true},
		{`-Ia\b -w`, `-Ia\b|-w`, "", true},
		{`"-Ia" -w`, `"-Ia"|-w`, "", true},
		{"-I=a -w", "-I=a|-w", "", true},
		{"-I- -w", "-I-|-w", "", true},
		{"-I -w a", "-I|-w|a", "", true},
		{"-w -I", "-w|-I", "", true},
		{"-isystem-after a", "-isystem-after|a", "", true},
		{"-D -Ia", "-D|-Ia", "", true},
		{"-x -Ia -Ib", "-x|-Ia", "-Ib", true},
		{"-w\t-Ia", "-w\t-Ia", "", true},
		{`-DX=" -Ia"`, `-DX=" -Ia"`, "", true},
		{`-DX="a" -Ia`, `-DX="a"`, "-Ia", false},
		{`-DX=\"a\" -Ia`, `-DX=\"a\"`, "-Ia", false},
		{`-DX=\" -Ia`, `-DX=\"`, "-Ia", true}, // the quote may open a word
		{`-DX=\"`, `-DX=\"`, "", false},
		{"-Ia,b", "-Ia,b", "", true},
		{"-include a.h -Ib", "-include|a.h", "-Ib", false},
	}
	for _, tt := range tests {
		t.Run(tt.options, func(t *testing.T) {
			t.Parallel()
			words := key.Tokens(tt.options)
			rest, search := SplitSearch(words)
			_, _, _, doubt := splitSearch(words)
			if got := strings.Join(rest, "|"); got != tt.rest {
				t.Errorf("rest %s, want %s", got, tt.rest)
			}
			if got := strings.Join(search, "|"); got != tt.search {
				t.Errorf("search %s, want %s", got, tt.search)
			}
			if (doubt != "") != tt.doubt {
				t.Errorf("doubt %q, want %v", doubt, tt.doubt)
			}
		})
	}
}

func TestSearchPath(t *testing.T) {
	t.Parallel()
	_, _, options, _ := splitSearch(key.Tokens("-idirafter e -isystem d -Ib -iquote a -I/c"))
	s := Search{Dir: "/w", First: []string{"/first"}, Last: []string{"/last"}, System: []string{"/usr/include"}}
	got, quotes := s.path(options)
	want := []string{"/w/a", "/first", "/w/b", "/c", "/last", "/w/d", "/usr/include", "/w/e"}
	if diff := gocmp.Diff(want, got); diff != "" || quotes != 1 {
		t.Errorf("quotes %d; path (-want +got):\n%s", quotes, diff)
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
