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

func TestWrapColumns(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		text, want string
		width      int
	}{
		{"a  1  one two three\n", "a  1  one two three\n", 0},
		{"a  1  one two three\n", "a  1  one two\n      three\n", 13},
		{"a  1  one two three\n", "a  1  one\n      two\n      three\n", 12},
		{"ä  1  one two\n", "ä  1  one two\n", 13},                                // which is as wide
		{"one two three\n", "one two\n  three\n", 9},                              // no columns
		{"  one two three\n", "  one two\n    three\n", 9},                        // but for the beginning
		{"seven  seven  four five six\n", "seven  seven  four\n  five six\n", 18}, // the column is too far to the right
		{"seven  seven  fourteen\n", "seven  seven\n  fourteen\n", 18},
		{"a  /a/long/path/of/one/word\n", "a  /a/long/path/of/one/word\n", 12}, // cannot be broken
		{"one two three", "one two\n  three\n", 9},
		{"\x1b[1mone two three\x1b[0m\nb  c\n", "\x1b[1mone two three\x1b[0m\nb  c\n", 9},
	} {
		if diff := cmp.Diff(tt.want, WrapColumns(tt.text, tt.width)); diff != "" {
			t.Errorf("%q in %d columns:\n%s", tt.text, tt.width, diff)
		}
	}
}

func TestFill(t *testing.T) {
	t.Parallel()
	const text = "one two three four five\nsix\n\nSTATUS\n  0  all of it is well\n  1  no\n\nlast"
	for width, want := range map[int]string{
		0:  text,
		14: "one two three\nfour five six\n\nSTATUS\n  0  all of it\n     is well\n  1  no\n\nlast\n",
	} {
		if diff := cmp.Diff(want, Fill(text, width)); diff != "" {
			t.Errorf("in %d columns:\n%s", width, diff)
		}
	}
}
