package main

import (
	"os"
	"strings"
	"testing"
)

const document = `<!-- table: make applications -->
| application | variables | first | again | layer, again | found, compiled, passed | layer, wiped | found, compiled, passed |
|---|---|--:|--:|--:|---|--:|---|
| clpeak | – |   1.72 s |   1.13 s | **1.02 s** | 1, 0, 0 | **0.91 s** | 1, 0, 0 |
| ffmpeg, three filters | – |   3.98 s |   0.78 s | **1.01 s** | 3, 0, 0 | **0.89 s** | 3, 0, 0 |
| pyopencl | – |   8.95 s |   0.29 s | **0.35 s** | 0, 0, 11 | **1.24 s** | 11, 0, 1 |
| pyopencl | ` + "`X=1`" + ` |   7.77 s |   7.77 s | **7.77 s** | 0, 0, 11 | **7.77 s** | 11, 0, 1 |
| hashcat, MD5 | – |  31.32 s |   2.96 s | **2.75 s** | 0, 0, 3 | **3.55 s** | 6, 0, 0 |
<!-- end of table -->

A machine
with two cores.

More.
`

// TestPlot: the bars are those of the rows without variables, in the columns that are drawn.
func TestPlot(t *testing.T) {
	t.Parallel()
	svg, err := plot(document)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		">31.3 s<", ">2.96 s<", ">3.55 s<", ">8.95 s<", ">0.29 s<", ">1.24 s<",
		">3.98 s<", ">0.78 s<", ">0.89 s<", ">1.72 s<", ">1.13 s<", ">0.91 s<", ">A machine<", ">with two cores.<",
	} {
		if strings.Count(svg, want) != 1 {
			t.Errorf("%q stands there %d times", want, strings.Count(svg, want))
		}
	}
	for _, not := range []string{"7.77", "1.02", "More"} {
		if strings.Contains(svg, not) {
			t.Errorf("%q is drawn", not)
		}
	}
}

func TestPlotOfWhatIsNotThere(t *testing.T) {
	t.Parallel()
	tests := []struct{ name, old, now, want string }{
		{"no table", "<!-- end of table -->", "", "no table"},
		{"no row", "| clpeak |", "| clpeak, long |", "no row of clpeak"},
		{"a row with variables alone", "| clpeak | – |", "| clpeak | `X=1` |", "no row of clpeak"},
		{"no column", "| again |", "| second |", "no column again"},
		{"no time", "  1.72 s", "  –", "is no time"},
	}
	for _, tt := range tests {
		if _, err := plot(strings.Replace(document, tt.old, tt.now, 1)); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %v, want %q", tt.name, err, tt.want)
		}
	}
}

// TestPlotIsOfTheTable: docs/applications.svg is what docs/APPLICATIONS.md's table gives.
func TestPlotIsOfTheTable(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../docs/APPLICATIONS.md")
	if err != nil {
		t.Fatal(err)
	}
	want, err := plot(string(text))
	if err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile("../../docs/applications.svg")
	if err != nil {
		t.Fatal(err)
	}
	if string(got) != want {
		t.Error("docs/applications.svg is of another table: run 'make applications', or 'go run ./applications ../docs' in bench")
	}
}
