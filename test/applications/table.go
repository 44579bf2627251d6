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
	pocl := "      –"
	if r.PoCL > 0 {
		pocl = seconds(r.PoCL)
	}
	return fmt.Sprintf("%-22s PoCL's cache %-3s  without %s  PoCL warm %s  cold %s  warm %s  %3d programs, warm: %d found, %d compiled, %d passed",
		r.App, onOff(r.PoCLCache), seconds(r.Without), pocl, seconds(r.Cold), seconds(r.Warm), r.ColdAsked, r.WarmDisk, r.WarmCompiled, r.WarmPassed)
}

func seconds(d time.Duration) string { return fmt.Sprintf("%6.2f s", d.Seconds()) }

func onOff(on bool) string {
	if on {
		return "on"
	}
	return "off"
}

// The table stands between these lines in the document.
const (
	tableBegins = "<!-- table: make applications -->"
	tableEnds   = "<!-- end of table -->"
)

const tableHead = "| application | PoCL's cache | without the layer | PoCL's cache filled | layer, cold | layer, warm | programs | found | compiled | outputs |\n" +
	"|---|---|--:|--:|--:|--:|--:|--:|--:|---|\n"

// begin returns how the row of a result begins: no other row does.
func (r *result) begin() string { return fmt.Sprintf("| %s | %s |", r.App, onOff(r.PoCLCache)) }

// row is a result as a row of the table.
func (r *result) row() string {
	pocl := "–"
	if r.PoCL > 0 {
		pocl = seconds(r.PoCL)
	}
	return fmt.Sprintf("%s %s | %s | %s | **%s** | %d | %d | %d | equal |\n", r.begin(),
		seconds(r.Without), pocl, seconds(r.Cold), strings.TrimSpace(seconds(r.Warm)), r.ColdAsked, r.WarmDisk, r.WarmCompiled)
}

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
