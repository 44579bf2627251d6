// Package terminal writes to people and to programs: text in color, tables, JSON without
// control characters, progress.
package terminal

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"unicode/utf8"

	"golang.org/x/term"

	"github.com/kernstash/kernstash/internal/human"
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
	if width, _, err := term.GetSize(int(w.(*os.File).Fd())); err == nil && width > 0 {
		t.Width = min(max(width, narrow), 120)
	}
	t.Lines = t.Width
	t.color = os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb"
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

// WriteTable writes aligned columns for people; a title that begins with ">" heads one of numbers.
func WriteTable(w io.Writer, head []string, rows [][]string) error {
	titles, right, width := make([]string, len(head)), make([]bool, len(head)), make([]int, len(head))
	for i, h := range head {
		titles[i], right[i] = strings.CutPrefix(h, ">")
	}
	rows = append([][]string{titles}, rows...)
	for _, row := range rows {
		for i, c := range row {
			width[i] = max(width[i], utf8.RuneCountInString(c))
		}
	}
	for _, row := range rows {
		cells := make([]string, len(row))
		for i, c := range row {
			pad := strings.Repeat(" ", width[i]-utf8.RuneCountInString(c))
			if right[i] {
				cells[i] = pad + c
			} else {
				cells[i] = c + pad
			}
		}
		if _, err := io.WriteString(w, strings.TrimRight(strings.Join(cells, "  "), " ")+"\n"); err != nil {
			return err
		}
	}
	return nil
}

// EncodeJSON writes a value and a line feed. JSON may hold characters that a
// terminal obeys, and people look at JSON on terminals, so those are written
// as escapes, which mean the same. Bytes that are no UTF-8 become U+FFFD.
func EncodeJSON(w io.Writer, v any, indent string) error {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", indent)
	if err := enc.Encode(v); err != nil {
		return err
	}
	_, err := w.Write(escapeControls(b.Bytes()))
	return err
}

// escapeControls escapes what human.Printable would replace. Outside of strings JSON
// has none of it but line feeds.
func escapeControls(b []byte) []byte {
	out := make([]byte, 0, len(b))
	for len(b) > 0 {
		r, n := utf8.DecodeRune(b)
		if human.IsControl(r) && r != '\n' && r != utf8.RuneError {
			out = fmt.Appendf(out, `\u%04x`, r)
		} else {
			out = append(out, b[:n]...)
		}
		b = b[n:]
	}
	return out
}
