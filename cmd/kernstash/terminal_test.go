package main

import (
	"bytes"
	"testing"
)

func TestBar(t *testing.T) {
	t.Parallel()
	fancy, plain := terminal{unicode: true}, terminal{}
	for _, tt := range []struct {
		t     terminal
		share float64
		want  string
	}{
		{fancy, 1, "████"},
		{fancy, 0.5, "██"},
		{fancy, 0.4, "█▋"},
		{fancy, 0, "▏"},
		{fancy, 2, "████"},
		{plain, 1, "####"},
		{plain, 0.5, "##"},
		{plain, 0, "#"},
		{plain, -1, "#"},
	} {
		if got := tt.t.bar(tt.share, 4); got != tt.want {
			t.Errorf("%v, %v: %q, want %q", tt.t.unicode, tt.share, got, tt.want)
		}
	}
}

func TestPlainWhereThereIsNoTerminal(t *testing.T) {
	t.Parallel()
	term := terminalOf(&bytes.Buffer{})
	if term.color || term.unicode || term.paint(red, "x") != "x" {
		t.Errorf("%+v", term)
	}
	if got := (terminal{color: true}).paint(red, "x"); got != "\x1b[31mx\x1b[0m" {
		t.Errorf("%q", got)
	}
}
