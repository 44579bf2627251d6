package main

import (
	"io"
	"os"
	"strings"

	"golang.org/x/term"
)

// terminal is what the place that output goes to can show.
type terminal struct {
	color   bool
	unicode bool
	width   int
}

// terminalOf finds out about w. Where it is no terminal, or NO_COLOR is set or
// TERM is dumb, output is plain: ASCII, no colors.
func terminalOf(w io.Writer) terminal {
	plain := terminal{width: 80}
	if !isTerminal(w) || os.Getenv("NO_COLOR") != "" || os.Getenv("TERM") == "dumb" {
		return plain
	}
	f := w.(*os.File)
	t := terminal{color: true, unicode: isUTF8Locale(), width: plain.width}
	if width, _, err := term.GetSize(int(f.Fd())); err == nil && width > 0 {
		t.width = min(width, 120)
	}
	return t
}

func isTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

func isUTF8Locale() bool {
	for _, name := range []string{"LC_ALL", "LC_CTYPE", "LANG"} {
		if v := os.Getenv(name); v != "" {
			v = strings.ToLower(v)
			return strings.Contains(v, "utf-8") || strings.Contains(v, "utf8")
		}
	}
	return false
}

// The colors of the demonstration's bars and of verdicts.
const (
	red    = "31"
	green  = "32"
	yellow = "33"
	cyan   = "36"
	bold   = "1"
)

func (t terminal) paint(color, s string) string {
	if !t.color {
		return s
	}
	return "\x1b[" + color + "m" + s + "\x1b[0m"
}

// bar returns a bar of the share of width columns, never shorter than what can
// be seen.
func (t terminal) bar(share float64, width int) string {
	share = min(max(share, 0), 1)
	if !t.unicode {
		return strings.Repeat("#", max(1, int(share*float64(width)+0.5)))
	}
	const eighths = 8
	n := max(1, int(share*float64(width)*eighths+0.5))
	b := strings.Repeat("█", n/eighths)
	if rest := n % eighths; rest > 0 {
		b += string([]rune(" ▏▎▍▌▋▊▉")[rest])
	}
	return b
}
