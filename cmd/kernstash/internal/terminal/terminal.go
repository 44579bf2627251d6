// Package terminal writes to people and to programs: text in color, tables, JSON without
// control characters, progress.
package terminal

import (
	"io"
	"os"
	"strconv"

	"golang.org/x/term"
)

// Terminal is what the place that output goes to can show.
type Terminal struct {
	color bool
	Width int // of text for people
	Lines int // of tables with one row a line, which programs read as well; 0: any
}

// Of finds out about w. Where it is no terminal, or NO_COLOR is set or
// TERM is dumb, output is plain: ASCII, no colors.
func Of(w io.Writer) Terminal {
	t := Terminal{Width: 80}
	if width, err := strconv.Atoi(os.Getenv("COLUMNS")); err == nil && width > 0 {
		t.Width, t.Lines = max(width, narrow), max(width, narrow)
	}
	if !IsTerminal(w) {
		return t
	}
	f := w.(*os.File)
	if width, _, err := term.GetSize(int(f.Fd())); err == nil && width > 0 {
		t.Width = min(max(width, narrow), 120)
	}
	t.Lines = t.Width
	if os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb" {
		t.color = true
	}
	return t
}

// narrow is the least width that is written for.
const narrow = 40

// IsTerminal reports whether w is a terminal.
func IsTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// The colors of verdicts.
const (
	Red    = "31"
	Green  = "32"
	Yellow = "33"
	Bold   = "1"
	Plain  = "0"
)

// Paint puts s into a color, where there are colors.
func (t Terminal) Paint(color, s string) string {
	if !t.color {
		return s
	}
	return "\x1b[" + color + "m" + s + "\x1b[0m"
}
