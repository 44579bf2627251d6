package terminal

import (
	"io"
	"strings"
	"unicode/utf8"
)

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
