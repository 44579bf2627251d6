package human

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestWrap(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		text  string
		width int
		want  []string
	}{
		{"", 5, []string{""}},
		{"a b", 3, []string{"a b"}},
		{"aa bb cc", 5, []string{"aa bb", "cc"}},
		{"aaaaaaa b", 3, []string{"aaaaaaa", "b"}},
		{"äää ö", 5, []string{"äää ö"}},
		{" a  b ", 9, []string{"a b"}},
	} {
		if diff := cmp.Diff(tt.want, Wrap(tt.text, tt.width)); diff != "" {
			t.Errorf("%q in %d columns:\n%s", tt.text, tt.width, diff)
		}
	}
	if got, want := WrapBehind("  x  ", "one two three four five six", 5, 25), "  x  one two three four\n     five six\n"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	if got, want := WrapLines("short\n  one two three four\n\x1b[1mcolored and wide\n", 4, 12), "short\n  one two\n    three\n    four\n\x1b[1mcolored and wide\n"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}
