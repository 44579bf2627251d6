package main

import (
	"fmt"
	"io"
	"time"

	"github.com/kernstash/kernstash/bench/internal/machine"
)

// report is what a run found; -json writes it.
type report struct {
	Machine machine.Machine `json:"machine"`
	Device  string          `json:"device,omitempty"` // of the starts
	Rounds  int             `json:"rounds"`
	Rows    []result        `json:"rows"`
	Absent  []absentRow     `json:"absent"`
}

// absentRow is a row that was not measured, and why.
type absentRow struct {
	What string `json:"what"`
	Why  string `json:"why"`
}

// absent are the rows that cannot be measured yet.
var absent = []absentRow{
	{"an OpenCL application that builds nothing, under the layer", "`make test-timing`"},
	{"a warm OpenCL application against loading its binaries by hand", "`make test-timing`, on Intel's driver"},
	{"`kernstash run` against fork, exec and wait", "`make test-timing`"},
	{"put, hit, opening, gc with 1,000,000 entries", "by hand: `make bench-million`; here are 20,000"},
}

// print writes the table for people.
func (r *report) print(w io.Writer) {
	fmt.Fprintf(w, "%s\nmedians of %d rounds; load %s\n\n", r.Machine, r.Rounds, r.Machine.Load)
	fmt.Fprintf(w, "%-76s %11s %11s %7s  %s\n", "what", "kernstash", "compared", "ratio", "bar")
	for _, row := range r.Rows {
		fmt.Fprintf(w, "%-76s %11s %11s %7s  %s\n", row.Name, short(row.Ours), short(row.Theirs), figure(row.Ratio), row.verdict())
		for _, p := range row.Peers {
			fmt.Fprintf(w, "    %-72s %11s %11s %7s\n", p.Name, "", short(p.Time), figure(1/p.Ratio))
		}
	}
	fmt.Fprintln(w)
	for _, a := range r.Absent {
		fmt.Fprintf(w, "not measured: %s: %s\n", a.What, a.Why)
	}
}

func (r result) verdict() string {
	switch {
	case r.Bar == bar{}.String():
		return r.Bar
	case r.Within:
		return r.Bar + ": ok"
	}
	return r.Bar + ": OVER"
}

func figure(ratio float64) string {
	if ratio == 0 {
		return "–"
	}
	return fmt.Sprintf("%.2f", ratio)
}

func short(d time.Duration) string {
	switch {
	case d == 0:
		return "–"
	case d < 10*time.Microsecond:
		return fmt.Sprintf("%d ns", d.Nanoseconds())
	case d < 10*time.Millisecond:
		return fmt.Sprintf("%.1f µs", float64(d.Nanoseconds())/1e3)
	}
	return fmt.Sprintf("%.1f ms", float64(d.Nanoseconds())/1e6)
}

// plural is a number with its noun.
func plural(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}
