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
