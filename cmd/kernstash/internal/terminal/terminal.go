// Package terminal writes text in color, tables, JSON without control characters, and progress.
package terminal

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
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

// WriteTable is WriteTable for lines that t is wide enough for. Where a row is too long, the columns with these
// numbers are no columns: what they hold stands below their row.
func (t Terminal) WriteTable(w io.Writer, head []string, rows [][]string, below ...int) error {
	var all, narrow strings.Builder
	if err := WriteTable(&all, head, rows); err != nil {
		return err
	}
	tooLong := func(line string) bool { return utf8.RuneCountInString(line) > t.Lines }
	if t.Lines == 0 || !slices.ContainsFunc(strings.Split(all.String(), "\n"), tooLong) {
		_, err := io.WriteString(w, all.String())
		return err
	}
	without := func(row []string) (left []string) {
		for i, cell := range row {
			if !slices.Contains(below, i) {
				left = append(left, cell)
			}
		}
		return left
	}
	left := make([][]string, len(rows))
	for i, row := range rows {
		left[i] = without(row)
	}
	if err := WriteTable(&narrow, without(head), left); err != nil {
		return err
	}
	lines := strings.SplitAfter(narrow.String(), "\n")
	for i, line := range lines {
		if _, err := io.WriteString(w, human.WrapLines(line, underRow, t.Lines)); err != nil {
			return err
		}
		if i == 0 || i > len(rows) {
			continue
		}
		for _, column := range below {
			if text := rows[i-1][column]; text != "" {
				if _, err := io.WriteString(w, human.WrapBehind(strings.Repeat(" ", underRow), text, underRow, t.Lines)); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// underRow is how far what stands below a row is from its beginning.
const underRow = 4

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
	out := make([]byte, 0, b.Len())
	for b.Len() > 0 { // outside of strings JSON has no control characters but line feeds
		r, _, _ := b.ReadRune()
		if human.IsControl(r) && r != '\n' && r != utf8.RuneError {
			out = fmt.Appendf(out, `\u%04x`, r)
		} else {
			out = utf8.AppendRune(out, r)
		}
	}
	_, err := w.Write(out)
	return err
}

// Progress tells people what is going on, on standard error: one line that is
// written over on a terminal, a line for each step elsewhere, unless it is the
// same as the one before. A nil progress is silent. It is safe for concurrent use.
type Progress struct {
	mu    sync.Mutex
	w     io.Writer
	over  bool // write over the line before
	open  bool // a line is there to be written over
	last  string
	width int
}

// NewProgress returns a progress that writes to w.
func NewProgress(w io.Writer) *Progress {
	return &Progress{w: w, over: IsTerminal(w) && os.Getenv("TERM") != "dumb", width: Of(w).Width}
}

// Say says what is going on.
func (p *Progress) Say(format string, args ...any) {
	if p == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	text := []rune(human.Printable(fmt.Sprintf(format, args...), false))
	if !p.over {
		if line := string(text); line != p.last {
			p.last = line
			fmt.Fprintf(p.w, "%s\n", line)
		}
		return
	}
	fmt.Fprintf(p.w, "\r\x1b[K%s", string(text[:min(len(text), p.width-1)]))
	p.open = true
}

// Done removes the line that would be written over.
func (p *Progress) Done() {
	if p == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.open {
		fmt.Fprint(p.w, "\r\x1b[K")
		p.open = false
	}
}

// Counting returns a function that says how many entries are done, of about total, if that is
// known, and how fast: now and then, and only where it can write over what it said before.
func (p *Progress) Counting(verb string, total int64) func(done int64) {
	const every = 200 * time.Millisecond
	start := time.Now()
	last := start
	return func(done int64) {
		now := time.Now()
		if !p.over || now.Sub(last) < every {
			return
		}
		last = now
		p.Say("%s", counted(verb, done, total, now.Sub(start)))
	}
}

// counted says how far something is.
func counted(verb string, done, total int64, took time.Duration) string {
	text := verb + " " + human.Plural(done, "entry")
	if total > 0 {
		text += fmt.Sprintf(" of about %d, %d %%", max(total, done), min(100*done/total, 100))
	}
	if took > 0 {
		text += fmt.Sprintf(", %.0f a second", float64(done)/took.Seconds())
	}
	return text
}
