package terminal

import (
	"bytes"
	"testing"
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

// TestTableFits: on a terminal a table is as wide as that. Expected are its lines as a person would lay them out.
func TestTableFits(t *testing.T) {
	t.Parallel()
	head := []string{"NAME", "VALUE", ">N", "BY"}
	rows := [][]string{
		{"one", "short", "1", "nobody"},
		{"two", "/a/path/that/is/longer/than/its/column", "22", "somebody else, who has a long name"},
	}
	for width, want := range map[int]string{
		0: "NAME  VALUE                                    N  BY\n" +
			"one   short                                    1  nobody\n" +
			"two   /a/path/that/is/longer/than/its/column  22  somebody else, who has a long name\n",
		// 50 less NAME, N and three gaps are 38, of which VALUE and BY have 19 each.
		50: "NAME  VALUE                 N  BY\n" +
			"one   short                 1  nobody\n" +
			"two   /a/path/that/is/longer/than/its/column\n" +
			"                           22  somebody else, who\n" +
			"                               has a long name\n",
		84: "NAME  VALUE                                    N  BY\n" +
			"one   short                                    1  nobody\n" +
			"two   /a/path/that/is/longer/than/its/column  22  somebody else, who has a long name\n",
	} {
		var b bytes.Buffer
		if err := (Terminal{Lines: width}).WriteTable(&b, head, rows); err != nil {
			t.Fatal(err)
		}
		if b.String() != want {
			t.Errorf("in %d columns got\n%s\nwant\n%s", width, b.String(), want)
		}
	}
}
