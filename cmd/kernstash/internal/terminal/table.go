package terminal

import (
	"io"
	"strings"
	"unicode/utf8"
)

// Table writes aligned columns for people.
type Table struct {
	head  []string
	right []bool // columns that are numbers
	rows  [][]string
}

// NewTable makes a table; a title that begins with ">" heads a column of
// numbers.
func NewTable(head ...string) *Table {
	t := &Table{right: make([]bool, len(head))}
	for i, h := range head {
		h, t.right[i] = strings.CutPrefix(h, ">")
		t.head = append(t.head, h)
	}
	return t
}

// Add adds a row.
func (t *Table) Add(cells ...string) { t.rows = append(t.rows, cells) }

// Write writes the head and the rows.
func (t *Table) Write(w io.Writer) error {
	width := make([]int, len(t.head))
	all := append([][]string{t.head}, t.rows...)
	for _, row := range all {
		for i, c := range row {
			width[i] = max(width[i], utf8.RuneCountInString(c))
		}
	}
	for _, row := range all {
		var b strings.Builder
		for i, c := range row {
			if i > 0 {
				b.WriteString("  ")
			}
			pad := strings.Repeat(" ", width[i]-utf8.RuneCountInString(c))
			if t.right[i] {
				b.WriteString(pad + c)
			} else {
				b.WriteString(c + pad)
			}
		}
		if _, err := io.WriteString(w, strings.TrimRight(b.String(), " ")+"\n"); err != nil {
			return err
		}
	}
	return nil
}
