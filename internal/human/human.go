// Package human writes figures and text for people.
package human

import (
	"fmt"
	"strings"
	"time"
	"unicode/utf8"
)

// Size writes bytes with three figures: 812 B, 1.24 MiB.
func Size(n int64) string {
	if n < 1024 {
		return fmt.Sprintf("%d B", n)
	}
	v, unit := float64(n), 0
	for v >= 1023.5 && unit < len("KMGTPE") {
		v /= 1024
		unit++
	}
	return Figures(v) + " " + string("KMGTPE"[unit-1]) + "iB"
}

// Time writes a duration with three figures: 3.12 ms, 1.05 s, 2 h 05 min.
func Time(d time.Duration) string {
	switch {
	case d < 0:
		return "-" + Time(-d)
	case d < time.Microsecond:
		return fmt.Sprintf("%d ns", d)
	case d < 999500*time.Nanosecond:
		return Figures(float64(d)/1e3) + " µs"
	case d < 999500*time.Microsecond:
		return Figures(float64(d)/1e6) + " ms"
	case d < time.Minute:
		return Figures(d.Seconds()) + " s"
	case d < time.Hour:
		return fmt.Sprintf("%d min %02d s", d/time.Minute, d%time.Minute/time.Second)
	case d < 48*time.Hour:
		return fmt.Sprintf("%d h %02d min", d/time.Hour, d%time.Hour/time.Minute)
	}
	return fmt.Sprintf("%d days", d/(24*time.Hour))
}

// Age writes how long ago a moment was.
func Age(t, now time.Time) string {
	if t.IsZero() {
		return "never"
	}
	d := now.Sub(t)
	if d < time.Second {
		return "now"
	}
	if d < time.Minute {
		d = d.Truncate(time.Second)
	}
	return Time(d) + " ago"
}

// Rate writes a share in percent.
func Rate(part, whole int64) string {
	if whole == 0 {
		return "–"
	}
	return fmt.Sprintf("%.1f %%", 100*float64(part)/float64(whole))
}

// Figures writes three figures.
func Figures(v float64) string {
	switch {
	case v < 9.995:
		return fmt.Sprintf("%.2f", v)
	case v < 99.95:
		return fmt.Sprintf("%.1f", v)
	}
	return fmt.Sprintf("%.0f", v)
}

// Plural writes a count with its noun.
func Plural[N int | int64](n N, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	if strings.HasSuffix(noun, "s") {
		return fmt.Sprintf("%d %ses", n, noun)
	}
	if strings.HasSuffix(noun, "y") {
		return fmt.Sprintf("%d %sies", n, strings.TrimSuffix(noun, "y"))
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

// Names writes a list of names: the first three, and how many more there are, with those that are not in the list.
func Names(all []string, more int) string {
	const most = 3
	shown := all[:min(len(all), most)]
	if more += len(all) - len(shown); more == 0 {
		return strings.Join(shown, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(shown, ", "), more)
}

// Printable makes text that others wrote safe for a terminal: no control
// characters but line feeds and tabs where lines says so.
func Printable(s string, lines bool) string {
	return strings.Map(func(r rune) rune {
		if IsControl(r) && (!lines || r != '\n' && r != '\t') {
			return '�'
		}
		return r
	}, s)
}

// IsControl reports whether a terminal might obey a character, or reorder others for it.
func IsControl(r rune) bool {
	return r < ' ' || r >= 0x7f && r < 0xa0 || r == utf8.RuneError ||
		r == '\u2028' || r == '\u2029' || r >= '\u202a' && r <= '\u202e' || r >= '\u2066' && r <= '\u2069' ||
		r == '\u200e' || r == '\u200f' || r == '\u061c'
}

// Millis returns a duration in milliseconds, as reports for programs have them.
func Millis(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

// Wrap breaks a line at spaces, so that no part is wider than width unless one word is.
func Wrap(text string, width int) (lines []string) {
	lines = []string{""}
	for word := range strings.FieldsSeq(text) {
		last := &lines[len(lines)-1]
		switch {
		case *last == "":
			*last = word
		case utf8.RuneCountInString(*last)+1+utf8.RuneCountInString(word) <= width:
			*last += " " + word
		default:
			lines = append(lines, word)
		}
	}
	return lines
}

// Clip returns text, cut to so many columns, one at least, if it is longer.
func Clip(text string, width int) string {
	if r := []rune(text); len(r) > width {
		return string(r[:max(width-1, 0)]) + "…"
	}
	return text
}

// WrapBehind puts text behind head, and what does not fit in width on lines of its own,
// below its beginning. The head takes indent columns: it may hold colors. Width 0 is any.
func WrapBehind(head, text string, indent, width int) string {
	if width == 0 {
		return head + text + "\n"
	}
	lines := Wrap(text, max(width-indent, 20))
	return head + strings.Join(lines, "\n"+strings.Repeat(" ", indent)) + "\n"
}

// WrapLines wraps the lines of a text that are too wide, and have no colors; what does not
// fit goes on lines that begin with so many blanks. Width 0 is any.
func WrapLines(text string, indent, width int) string {
	var b strings.Builder
	for line := range strings.Lines(text) {
		if width == 0 || utf8.RuneCountInString(strings.TrimRight(line, "\n")) <= width || strings.ContainsRune(line, '\x1b') {
			b.WriteString(line)
			continue
		}
		lead := line[:len(line)-len(strings.TrimLeft(line, " "))]
		parts := Wrap(line, width-max(indent, len(lead)))
		b.WriteString(lead + strings.Join(parts, "\n"+strings.Repeat(" ", indent)) + "\n")
	}
	return b.String()
}

// WrapColumns wraps the lines of a text that are too wide, and have no colors. What does not fit goes below the last
// column, which begins behind two blanks; where there is none in the left half, below the beginning of the line, and
// two blanks. Width 0 is any.
func WrapColumns(text string, width int) string {
	var b strings.Builder
	for line := range strings.Lines(text) {
		full := strings.TrimRight(line, " \n")
		if width == 0 || utf8.RuneCountInString(full) <= width || strings.ContainsRune(full, '\x1b') {
			b.WriteString(line)
			continue
		}
		at := len(full) - len(strings.TrimLeft(full, " "))
		below := at + 2
		if i := strings.LastIndex(full, "  "); i >= at {
			at = i + 2
			if column := utf8.RuneCountInString(full[:at]); column <= width/2 {
				below = column
			}
		}
		last, rest := full[:at], strings.Fields(full[at:])
		for i, word := range rest {
			text := last + word
			if i > 0 {
				text = last + " " + word
			}
			if utf8.RuneCountInString(text) > width && utf8.RuneCountInString(last) > below {
				b.WriteString(strings.TrimRight(last, " ") + "\n")
				text = strings.Repeat(" ", below) + word
			}
			last = text
		}
		b.WriteString(last + "\n")
	}
	return b.String()
}

// Fill joins the lines of each paragraph of a text that are not indented, and breaks them anew at spaces. Lines that are
// indented stay apart, and are wrapped as WrapColumns does. Width 0 is any.
func Fill(text string, width int) string {
	if width == 0 {
		return text
	}
	var b strings.Builder
	var paragraph []string
	flush := func() {
		if len(paragraph) > 0 {
			b.WriteString(strings.Join(Wrap(strings.Join(paragraph, " "), width), "\n") + "\n")
		}
		paragraph = nil
	}
	for line := range strings.Lines(text) {
		if strings.TrimSpace(line) != "" && !strings.HasPrefix(line, " ") {
			paragraph = append(paragraph, line)
			continue
		}
		flush()
		b.WriteString(WrapColumns(line, width))
	}
	flush()
	return b.String()
}

// Distance returns how many characters have to be put in, left out or changed, or
// pairs of neighbours be swapped, to make one text of another.
func Distance(a, b string) int {
	rows := [3][]int{make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)}
	for j := range rows[1] {
		rows[1][j] = j
	}
	for i := range len(a) {
		before, last, now := rows[0], rows[1], rows[2]
		now[0] = i + 1
		for j := range len(b) {
			change := 1
			if a[i] == b[j] {
				change = 0
			}
			now[j+1] = min(last[j+1]+1, now[j]+1, last[j]+change)
			if i > 0 && j > 0 && a[i] == b[j-1] && a[i-1] == b[j] {
				now[j+1] = min(now[j+1], before[j-1]+1)
			}
		}
		rows = [3][]int{last, now, before}
	}
	return rows[1][len(b)]
}
