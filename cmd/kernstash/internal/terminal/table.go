package terminal

import (
	"io"
	"strings"
	"unicode/utf8"

	"github.com/kernstash/kernstash/internal/human"
)

// columnGap stands between columns.
const columnGap = "  "

// WriteTable writes aligned columns for people; a title that begins with ">" heads one of numbers.
func WriteTable(w io.Writer, head []string, rows [][]string) error {
	return Terminal{}.WriteTable(w, head, rows)
}

// WriteTable writes aligned columns that fit a terminal: the last column is wrapped, and what is behind a cell that is
// wider than its column goes on the next line. Where there is no terminal it is as wide as it is.
func (t Terminal) WriteTable(w io.Writer, head []string, rows [][]string) error {
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
	t.shrink(titles, right, width)
	for _, row := range rows {
		if _, err := io.WriteString(w, t.row(row, right, width)); err != nil {
			return err
		}
	}
	return nil
}

// shrink makes columns of text narrower, the widest first, until they fit.
func (t Terminal) shrink(titles []string, right []bool, width []int) {
	const least = 12
	for t.Lines > 0 {
		total, widest := -len(columnGap), -1
		for i, n := range width {
			total += n + len(columnGap)
			if !right[i] && n > max(least, len(titles[i])) && (widest < 0 || n > width[widest]) {
				widest = i
			}
		}
		if total <= t.Lines || widest < 0 {
			return
		}
		width[widest]--
	}
}

func (t Terminal) row(row []string, right []bool, width []int) string {
	var b strings.Builder
	line, start := "", 0
	for i, c := range row {
		pad := strings.Repeat(" ", max(0, width[i]-utf8.RuneCountInString(c)))
		switch {
		case right[i]:
			line += pad + c
		case i == len(row)-1 && t.Lines > 0:
			line = strings.TrimRight(human.WrapBehind(line, c, start, max(t.Lines, start+width[i])), "\n")
		default:
			line += c + pad
		}
		start += width[i] + len(columnGap)
		if i < len(row)-1 && utf8.RuneCountInString(line) > start-len(columnGap) {
			b.WriteString(strings.TrimRight(line, " ") + "\n")
			line = strings.Repeat(" ", start-len(columnGap))
		}
		line += columnGap
	}
	return b.String() + strings.TrimRight(line, " ") + "\n"
}
