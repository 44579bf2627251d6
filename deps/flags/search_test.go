package flags

import (
	"strings"
	"testing"

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
			_, _, _, doubt := ParseSearch(words)
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

func TestKeepTimes(t *testing.T) {
	t.Parallel()
	for options, want := range map[string][2]bool{
		"":                                  {},
		"-arch=sm_80":                       {},
		"-arch=sm_80 -lineinfo":             {true, true},
		"-arch sm_90a --generate-line-info": {true, true},
		"--gpu-architecture=sm_80 -G":       {true, true},
		`-arch=sm_80 "--device-debug"`:      {true, true},
		"-arch=compute_80 -lineinfo":        {true, false},
		"-lineinfo":                         {true, false},
		"-arch=sm_80 -lineinfo -dlto":       {true, false},
	} {
		words := key.Tokens(options)
		if got := [2]bool{KeepLines(words), KeepTimes(words)}; got != want {
			t.Errorf("%q: %v", options, got)
		}
	}
}
