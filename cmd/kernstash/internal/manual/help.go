package manual

import (
	"io"
	"strings"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"github.com/kernstash/kernstash/internal/human"
)

// Help writes what cobra says of a command in lines of that width. Examples stay as they are.
func Help(w io.Writer, c *cobra.Command, width int) error {
	var b strings.Builder
	about := c.Long
	if about == "" {
		about = c.Short
	}
	if about = strings.TrimSpace(about); about != "" {
		fill(&b, about, width)
		b.WriteString("\n")
	}
	example := false
	for line := range strings.Lines(c.UsageString()) {
		switch text := strings.TrimRight(line, "\n"); {
		case text == "Examples:":
			example = true
		case text == "":
			example = false
		}
		if example {
			b.WriteString(line)
			continue
		}
		wrapItem(&b, line, width)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// fill breaks paragraphs anew, and items that go on below what is said of them. Titles stay lines, and so does what is
// indented otherwise.
func fill(b *strings.Builder, text string, width int) {
	var paragraph, indented string
	end := func() {
		if paragraph != "" {
			b.WriteString(strings.Join(human.Wrap(paragraph, width), "\n") + "\n")
		}
		if indented != "" {
			wrapItem(b, indented+"\n", width)
		}
		paragraph, indented = "", ""
	}
	for line := range strings.SplitSeq(text, "\n") {
		rest := strings.TrimLeft(line, " ")
		switch lead := len(line) - len(rest); {
		case rest == "" || isTitle(line):
			end()
			b.WriteString(line + "\n")
		case lead > 0 && indented != "" && lead == utf8.RuneCountInString(itemHead(indented)):
			indented += " " + rest
		case lead > 0:
			end()
			indented = line
		case paragraph == "":
			end()
			paragraph = line
		default:
			paragraph += " " + line
		}
	}
	end()
}

// wrapItem writes a line. What does not fit of it stands below what is said of an item.
func wrapItem(b *strings.Builder, line string, width int) {
	head := itemHead(line)
	if head == "" || utf8.RuneCountInString(strings.TrimRight(line, "\n")) <= width {
		b.WriteString(human.WrapLines(line, 4, width))
		return
	}
	b.WriteString(human.WrapBehind(head, strings.TrimPrefix(line, head), utf8.RuneCountInString(head), width))
}

// itemHead returns what stands before what is said of something, two or more blanks behind it: a flag, a command, a status.
func itemHead(line string) string {
	text := strings.TrimLeft(line, " ")
	name, about, ok := strings.Cut(text, "  ")
	if name == text || !ok || len(text) == len(line) {
		return ""
	}
	return line[:len(line)-len(text)] + name + text[len(name):len(text)-len(strings.TrimLeft(about, " "))]
}
