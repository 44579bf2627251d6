package main

import (
	"bytes"
	"testing"
)

func TestPlainWhereThereIsNoTerminal(t *testing.T) {
	t.Parallel()
	term := terminalOf(&bytes.Buffer{})
	if term.color || term.paint(red, "x") != "x" {
		t.Errorf("%+v", term)
	}
	if got := (terminal{color: true}).paint(red, "x"); got != "\x1b[31mx\x1b[0m" {
		t.Errorf("%q", got)
	}
}
