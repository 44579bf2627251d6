package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/kernstash/kernstash/bench/internal/chart"
	"github.com/kernstash/kernstash/bench/internal/marked"
)

// write replaces the table and the plots of the policies in a directory's
// RESULTS.md.
func (r *report) write(dir string) error {
	for _, c := range []struct {
		file, title string
		of          func(policyReport) float64
	}{
		{"results-policies-saved.svg", "What a full cache saves, by what it evicts first", func(p policyReport) float64 { return p.Saved }},
		{"results-policies-hits.svg", "What a full cache hits, by what it evicts first", func(p policyReport) float64 { return p.HitRate }},
	} {
		label := "build time saved, %"
		if strings.Contains(c.file, "hits") {
			label = "hits, % of the requests"
		}
		if err := os.WriteFile(filepath.Join(dir, c.file), []byte(r.chart(c.title, label, c.of)), 0o644); err != nil {
			return err
		}
	}
	return marked.File(filepath.Join(dir, "RESULTS.md"), map[string]string{"policies": r.table(), "policies-traces": r.traceTable()})
}

func (r *report) chart(title, label string, of func(policyReport) float64) string {
	c := chart.Lines{
		Title: title, Columns: 2, X: "limit, % of the bytes of all artifacts", Y: label,
		Caption: []string{
			"cost and lru are kernstash's own and free to two thirds of the limit at a time; the others evict one by one.",
			"Replayed traces of requests (make replay); sizes and compile times of real kernels on PoCL.",
		},
	}
	for _, f := range fractions {
		c.At = append(c.At, 100*f)
	}
	var shown []int
	for i, p := range r.Traces[0].Limits[0].Policies {
		if p.Name != "FIFO" && p.Name != "random" { // they are in the table
			shown = append(shown, i)
			c.Series = append(c.Series, p.Name)
		}
	}
	for _, t := range r.Traces {
		p := chart.LinePanel{Title: t.Title, Lines: make([][]float64, len(shown))}
		for _, l := range t.Limits {
			for i, at := range shown {
				p.Lines[i] = append(p.Lines[i], 100*of(l.Policies[at]))
			}
		}
		c.Panels = append(c.Panels, p)
	}
	return c.SVG()
}

// tableAt is the limit that the table shows.
const tableAt = 0.2

// table shows build time saved and hits at one limit.
func (r *report) table() string {
	var b strings.Builder
	b.WriteString("| Trace |")
	for _, p := range r.Traces[0].Limits[0].Policies {
		fmt.Fprintf(&b, " %s |", p.Name)
	}
	b.WriteString("\n|---|" + strings.Repeat("--:|", len(r.Traces[0].Limits[0].Policies)) + "\n")
	for _, t := range r.Traces {
		fmt.Fprintf(&b, "| %s |", t.Name)
		for _, l := range t.Limits {
			if l.Fraction == tableAt {
				for _, p := range l.Policies {
					fmt.Fprintf(&b, " %.0f / %.0f |", 100*p.Saved, 100*p.HitRate)
				}
			}
		}
		b.WriteString("\n")
	}
	return b.String()
}

func (r *report) traceTable() string {
	var b strings.Builder
	b.WriteString("| Trace | What | Requests | Artifacts | Days | Building each time |\n|---|---|--:|--:|--:|--:|\n")
	for _, t := range r.Traces {
		fmt.Fprintf(&b, "| %s | %s | %d | %d, %s | %.0f | %.1f h |\n", t.Name, t.Title, t.Requests, t.Keys,
			megabytes(t.Bytes), t.Days, t.Cost.Hours())
	}
	return b.String()
}
