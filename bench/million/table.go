package main

import (
	"fmt"
	"os"
	"slices"
	"time"
)

// table is what was measured, each line with its bar.
type table struct {
	lines [][4]string
	over  bool
}

// line adds a line. ok says whether it is within its bar; no bar, no verdict.
func (t *table) line(what, measured, bar string, ok bool) {
	verdict := ""
	if bar != "" {
		verdict = "ok"
		if !ok {
			verdict, t.over = "OVER", true
		}
	}
	t.lines = append(t.lines, [4]string{what, measured, bar, verdict})
	fmt.Fprintf(os.Stderr, "%s: %s %s\n", what, measured, verdict)
}

func (t *table) print(n int) {
	fmt.Printf("| %d entries | Measured | Bar | |\n|---|---|---|---|\n", n)
	for _, l := range t.lines {
		fmt.Printf("| %s | %s | %s | %s |\n", l[0], l[1], l[2], l[3])
	}
}

// ratio adds a line that compares the large root with the small one.
func (t *table) ratio(what string, large, small time.Duration, bar float64) {
	r := float64(large) / float64(small)
	t.line(what, fmt.Sprintf("%s, %s with %d: %.2f ×", short(large), short(small), smallEntries, r), fmt.Sprintf("≤ %.1f ×", bar), r <= bar)
}

func short(d time.Duration) string {
	switch {
	case d < 10*time.Millisecond:
		return fmt.Sprintf("%.1f µs", float64(d)/1e3)
	case d < 10*time.Second:
		return fmt.Sprintf("%.0f ms", float64(d)/1e6)
	}
	return fmt.Sprintf("%.1f s", d.Seconds())
}

func median(d []time.Duration) time.Duration {
	slices.Sort(d)
	return d[len(d)/2]
}
