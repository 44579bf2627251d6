package builder

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestSplitWords(t *testing.T) {
	t.Parallel()
	for text, want := range map[string][]string{
		"":                         nil,
		"  -a\t-b\n":               {"-a", "-b"},
		`-D 'S="a b"' -x`:          {"-D", `S="a b"`, "-x"},
		`-DS=\"a\ b\"`:             {`-DS="a b"`},
		`"a \"b\" \n" c`:           {`a "b" \n`, "c"},
		`'' ""`:                    {"", ""},
		"a\xff'\xfe'\\\xfd b\\\nc": {"a\xff\xfe\xfd", "b\nc"},
		`"\\\$\x"\'`:               {`\$\x'`},
		"a\u00a0b \u00a0":          {"a\u00a0b", "\u00a0"},
		`--std=c++17 -I"/a dir"/b`: {"--std=c++17", "-I/a dir/b"},
	} {
		got, err := splitWords(text)
		if err != nil {
			t.Errorf("%q: %v", text, err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%q (-want +got):\n%s", text, diff)
		}
	}
	for _, text := range []string{`'a`, `"a`, `a\`} {
		if got, err := splitWords(text); err == nil {
			t.Errorf("%q: %q", text, got)
		}
	}
}
