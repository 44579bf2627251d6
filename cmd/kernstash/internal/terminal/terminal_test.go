package terminal

import (
	"bytes"
	"testing"
)

func TestPlainWhereThereIsNoTerminal(t *testing.T) {
	t.Parallel()
	term := Of(&bytes.Buffer{})
	if term.color || term.Paint(Red, "x") != "x" {
		t.Errorf("%+v", term)
	}
	if got := (Terminal{color: true}).Paint(Red, "x"); got != "\x1b[31mx\x1b[0m" {
		t.Errorf("%q", got)
	}
}
