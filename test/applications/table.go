package main

import (
	"fmt"
	"os"
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

// writeTable puts the results in the place of the table in a document.
func writeTable(path string, results []result) error {
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	before, rest, ok := strings.Cut(string(text), tableBegins)
	_, after, ends := strings.Cut(rest, tableEnds)
	if !ok || !ends {
		return fmt.Errorf("%s: there is no %q … %q to write the table between", path, tableBegins, tableEnds)
	}
	var b strings.Builder
	b.WriteString("| application | PoCL's cache | without the layer | PoCL's cache filled | layer, cold | layer, warm | programs | found | compiled | outputs |\n")
	b.WriteString("|---|---|--:|--:|--:|--:|--:|--:|--:|---|\n")
	for _, r := range results {
		pocl := "–"
		if r.PoCL > 0 {
			pocl = seconds(r.PoCL)
		}
		fmt.Fprintf(&b, "| %s | %s | %s | %s | %s | **%s** | %d | %d | %d | equal |\n",
			r.App, onOff(r.PoCLCache), seconds(r.Without), pocl, seconds(r.Cold), strings.TrimSpace(seconds(r.Warm)), r.ColdAsked, r.WarmDisk, r.WarmCompiled)
	}
	return os.WriteFile(path, []byte(before+tableBegins+"\n"+b.String()+tableEnds+after), 0o644)
}
