package main

import (
	"bytes"
	"testing"
)

func TestTable(t *testing.T) {
	t.Parallel()
	tab := newTable("NAME", ">N", "TEXT")
	tab.add("ä", "10", "x")
	tab.add("long", "7", "")
	var b bytes.Buffer
	if err := tab.write(&b); err != nil {
		t.Fatal(err)
	}
	const want = "NAME   N  TEXT\nä     10  x\nlong   7\n"
	if b.String() != want {
		t.Errorf("got\n%s\nwant\n%s", b.String(), want)
	}
}
