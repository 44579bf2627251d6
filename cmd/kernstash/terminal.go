package main

import (
	"io"
	"os"
	"strconv"

	"golang.org/x/term"
)

// terminal is what the place that output goes to can show.
type terminal struct {
	color bool
	width int // of text for people
	lines int // of tables with one row a line, which programs read as well; 0: any
}

// terminalOf finds out about w. Where it is no terminal, or NO_COLOR is set or
// TERM is dumb, output is plain: ASCII, no colors.
func terminalOf(w io.Writer) terminal {
	t := terminal{width: 80}
	if width, err := strconv.Atoi(os.Getenv("COLUMNS")); err == nil && width > 0 {
		t.width, t.lines = max(width, narrow), max(width, narrow)
	}
	if !isTerminal(w) {
		return t
	}
	f := w.(*os.File)
	if width, _, err := term.GetSize(int(f.Fd())); err == nil && width > 0 {
		t.width = min(max(width, narrow), 120)
	}
	t.lines = t.width
	if os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb" {
		t.color = true
	}
	return t
}

// narrow is the least width that is written for.
const narrow = 40

func isTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// The colors of verdicts.
const (
	red    = "31"
	green  = "32"
	yellow = "33"
	bold   = "1"
)

func (t terminal) paint(color, s string) string {
	if !t.color {
		return s
	}
	return "\x1b[" + color + "m" + s + "\x1b[0m"
}
