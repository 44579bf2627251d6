package human

import (
	"strings"
	"unicode/utf8"
)

// Wrap breaks a line at spaces, so that no part is wider than width unless one word is.
func Wrap(text string, width int) (lines []string) {
	var line strings.Builder
	used := 0
	for word := range strings.FieldsSeq(text) {
		n := utf8.RuneCountInString(word)
		if used > 0 && used+1+n > width {
			lines = append(lines, line.String())
			line.Reset()
			used = 0
		}
		if used > 0 {
			line.WriteByte(' ')
			used++
		}
		line.WriteString(word)
		used += n
	}
	return append(lines, line.String())
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
