package main

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"time"
)

// line is a result for a terminal.
func (r *result) line() string {
	return fmt.Sprintf("%-22s %-22s first %s  again %s  layer: first %s  again %s  wiped %s  %3d programs; again: %d found, %d compiled, %d passed; wiped: %d found, %d compiled, %d passed",
		r.App, strings.Join(r.Variables, " "), seconds(r.First), seconds(r.Again), seconds(r.LayerFirst), seconds(r.LayerAgain), seconds(r.LayerWiped), r.Asked,
		r.AgainCounts.Found, r.AgainCounts.Compiled, r.AgainCounts.Passed, r.WipedCounts.Found, r.WipedCounts.Compiled, r.WipedCounts.Passed)
}

func seconds(d time.Duration) string { return fmt.Sprintf("%6.2f s", d.Seconds()) }

// The table stands between these lines in the document.
const (
	tableBegins = "<!-- table: make applications -->"
	tableEnds   = "<!-- end of table -->"
)

const tableHead = "| application | variables | first | again | layer, first | layer, again | found, compiled, passed | layer, wiped | found, compiled, passed | programs | outputs |\n" +
	"|---|---|--:|--:|--:|--:|--:|--:|--:|--:|---|\n"

// begin returns how the row of a result begins: no other row does.
func (r *result) begin() string {
	variables := "–"
	if len(r.Variables) > 0 {
		variables = "`" + strings.Join(r.Variables, "` `") + "`"
	}
	return fmt.Sprintf("| %s | %s |", r.App, variables)
}

// row is a result as a row of the table.
func (r *result) row() string {
	bold := func(d time.Duration) string { return "**" + strings.TrimSpace(seconds(d)) + "**" }
	return fmt.Sprintf("%s %s | %s | %s | %s | %v | %s | %v | %d | equal |\n", r.begin(),
		seconds(r.First), seconds(r.Again), seconds(r.LayerFirst), bold(r.LayerAgain), r.AgainCounts, bold(r.LayerWiped), r.WipedCounts, r.Asked)
}

func (c count3) String() string { return fmt.Sprintf("%d, %d, %d", c.Found, c.Compiled, c.Passed) }

// writeRow puts a result into the table of a document.
func writeRow(path string, r *result) error {
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	before, rest, ok := strings.Cut(string(text), tableBegins)
	table, after, ends := strings.Cut(rest, tableEnds)
	if !ok || !ends {
		return fmt.Errorf("%s: there is no %q … %q to write the table between", path, tableBegins, tableEnds)
	}
	table = withRow(strings.TrimPrefix(table, "\n"), r)
	return os.WriteFile(path, []byte(before+tableBegins+"\n"+table+tableEnds+after), 0o644)
}

// withRow returns a table in which a result has the place of its earlier row, else the
// one below the rows of its application, else the last.
func withRow(table string, r *result) string {
	var rows []string
	if old, ok := strings.CutPrefix(table, tableHead); ok {
		rows = strings.SplitAfter(strings.TrimSuffix(old, "\n"), "\n")
	}
	at, replaced := len(rows), 0
	for i, row := range rows {
		rows[i] = strings.TrimSuffix(row, "\n") + "\n"
		switch {
		case strings.HasPrefix(row, r.begin()):
			at, replaced = i, 1
		case replaced == 0 && strings.HasPrefix(row, fmt.Sprintf("| %s |", r.App)):
			at = i + 1
		}
	}
	rows = slices.Replace(rows, at, at+replaced, r.row())
	return tableHead + strings.Join(rows, "")
}
