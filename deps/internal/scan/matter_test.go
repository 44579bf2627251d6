package scan

import (
	"strings"
	"testing"

	"github.com/kernstash/kernstash/deps/internal/names"
	"github.com/kernstash/kernstash/key"
)

// Every name that a scan does something about is looked at by it, and so is every part of
// one that counts.
func TestNamesThatMatter(t *testing.T) {
	t.Parallel()
	list := []string{"R", "LR", "uR", "UR", "u8R", "import", "_Pragma", "__has_include_next__", "__has_embed", "__TIME__", "__DATE__", "include_alias", "dependency"}
	list = append(list, strings.Fields(names.Counting)...)
	for _, name := range strings.Fields(names.Counting) {
		for from := range name {
			for to := from + 1; to <= len(name); to++ {
				list = append(list, name[from:to])
			}
		}
	}
	for _, name := range list {
		if !mayMatter([]byte(name)) {
			t.Errorf("%s is passed over", name)
		}
	}
	for _, name := range []string{"threadIdx", "value", "T_", "__cccl", "_CCCL_STD"} {
		if mayMatter([]byte(name)) {
			t.Errorf("%s is looked at for nothing", name)
		}
	}
}

// What is passed over at once makes no difference: a scan that looks at every name, since
// one is watched, notes the same.
func FuzzPlain(f *testing.F) {
	f.Add("int main() { return a_b + 1'000 + u8R\"x(y)x\"; }\n#define A(x) in##x\n")
	f.Add("asm(\".inc\" \"lude\"); x.include; #include \"a.h\"\n  %: define __has_include_x\n")
	f.Add("#error it isn't\n\u00a0 x\u00e9y T U8R L'a' _Pragma(\"x\") import <a> // \\\n z\n")
	f.Add("\xe5 e a e R\"(a)\" 0x1\xc2\xa0 1.5\xe5 1'0.\n") // bytes of one letter that differ in their first bit
	f.Fuzz(func(t *testing.T, text string) {
		got, want := NewTraces(key.CUDACpp, nil), NewTraces(key.CUDACpp, nil)
		a := scanner{text: []byte(text), traces: got, found: new(Source)}
		b := scanner{text: []byte(text), traces: want, found: new(Source), watch: map[string]bool{"": true}}
		if text == "" || text[len(text)-1] != '\n' {
			return // logical text ends so
		}
		a.scan()
		b.scan()
		compareScans(t, a.found, b.found)
		if got.Pastes != want.Pastes || got.pragmas != want.pragmas || got.assembler != want.assembler || len(got.Pieces) != len(want.Pieces) || got.renames != want.renames {
			t.Errorf("%+v instead of %+v", got, want)
		}
	})
}

func compareScans(t *testing.T, got, want *Source) {
	t.Helper()
	if len(got.Lines) != len(want.Lines) || len(got.Macros) != len(want.Macros) || got.Asks != want.Asks ||
		got.Follows != want.Follows || got.Reason != want.Reason {
		t.Fatalf("%+v instead of %+v", got, want)
	}
	for i := range got.Lines {
		if got.Lines[i] != want.Lines[i] {
			t.Errorf("%+v instead of %+v", got.Lines[i], want.Lines[i])
		}
	}
	for i := range got.Macros {
		if got.Macros[i] != want.Macros[i] {
			t.Errorf("%+v instead of %+v", got.Macros[i], want.Macros[i])
		}
	}
}
