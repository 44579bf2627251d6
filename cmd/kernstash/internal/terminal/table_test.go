package terminal

import (
	"bytes"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestTable(t *testing.T) {
	t.Parallel()
	var b bytes.Buffer
	if err := WriteTable(&b, []string{"NAME", ">N", "TEXT"}, [][]string{{"ä", "10", ">x"}, {"long", "7", ""}}); err != nil {
		t.Fatal(err)
	}
	const want = "NAME   N  TEXT\nä     10  >x\nlong   7\n"
	if b.String() != want {
		t.Errorf("got\n%s\nwant\n%s", b.String(), want)
	}
}

func TestNarrowTable(t *testing.T) {
	t.Parallel()
	head := []string{"KEY", "DEVICE", ">SIZE"}
	rows := [][]string{{"a", "a device of many words, more than fit in a line of a terminal", "1 B"}, {"bb", "", "22 B"}}
	for width, want := range map[int]string{
		0: `KEY  DEVICE                                                         SIZE
a    a device of many words, more than fit in a line of a terminal   1 B
bb                                                                  22 B
`,
		40: `KEY  SIZE
a     1 B
    a device of many words, more than
    fit in a line of a terminal
bb   22 B
`,
	} {
		var b strings.Builder
		if err := (Terminal{Lines: width}).WriteTable(&b, head, rows, 1); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, b.String()); diff != "" {
			t.Errorf("width %d: %s", width, diff)
		}
	}
}
