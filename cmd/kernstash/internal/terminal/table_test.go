package terminal

import (
	"bytes"
	"testing"
)

func TestTable(t *testing.T) {
	t.Parallel()
	tab := NewTable("NAME", ">N", "TEXT")
	tab.Add("ä", "10", "x")
	tab.Add("long", "7", "")
	var b bytes.Buffer
	if err := tab.Write(&b); err != nil {
		t.Fatal(err)
	}
	const want = "NAME   N  TEXT\nä     10  x\nlong   7\n"
	if b.String() != want {
		t.Errorf("got\n%s\nwant\n%s", b.String(), want)
	}
}
