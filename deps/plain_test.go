package deps

import (
	"strings"
	"testing"

	"github.com/kernstash/kernstash/key"
)

// Every name that a scan does something about is looked at by it, and so is every part of
// one that counts.
func TestNamesThatMatter(t *testing.T) {
	t.Parallel()
	names := []string{"R", "LR", "uR", "UR", "u8R", "import", "_Pragma", "__has_include_next__", "__has_embed", "__TIME__", "__DATE__", "inc", "BIN", "Include", "DE", "lude", "mAcR", "Ltm"}
	names = append(names, strings.Fields(counting)...)
	for _, name := range strings.Fields(counting) {
		for from := range name {
			for to := from + 1; to <= len(name); to++ {
				names = append(names, name[from:to])
			}
		}
	}
	for _, name := range readers {
		for from := range name {
			names = append(names, name[from:], strings.ToUpper(name[from:]))
		}
	}
	for _, name := range names {
		if !mayMatter([]byte(name), new(traces)) {
			t.Errorf("%s is passed over", name)
		}
	}
	for _, name := range []string{"threadIdx", "value", "T_", "__cccl", "_CCCL_STD"} {
		if mayMatter([]byte(name), new(traces)) {
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
	f.Fuzz(func(t *testing.T, text string) {
		var got, want traces
		got.of(key.CUDACpp, nil)
		want.of(key.CUDACpp, nil)
		a := scanner{text: []byte(text), traces: &got, found: new(source)}
		b := scanner{text: []byte(text), traces: &want, found: new(source), watch: map[string]bool{"": true}}
		if text == "" || text[len(text)-1] != '\n' {
			return // logical text ends so
		}
		a.scan()
		b.scan()
		compareScans(t, a.found, b.found)
		if got.pastes != want.pastes || got.pragmas != want.pragmas || got.assembler != want.assembler || len(got.pieces) != len(want.pieces) || got.letters != want.letters {
			t.Errorf("%+v instead of %+v", got, want)
		}
	})
}

func compareScans(t *testing.T, got, want *source) {
	t.Helper()
	if len(got.lines) != len(want.lines) || len(got.macros) != len(want.macros) || got.asks != want.asks ||
		got.follows != want.follows || got.reason != want.reason {
		t.Fatalf("%+v instead of %+v", got, want)
	}
	for i := range got.lines {
		if got.lines[i] != want.lines[i] {
			t.Errorf("%+v instead of %+v", got.lines[i], want.lines[i])
		}
	}
	for i := range got.macros {
		if got.macros[i] != want.macros[i] {
			t.Errorf("%+v instead of %+v", got.macros[i], want.macros[i])
		}
	}
}
