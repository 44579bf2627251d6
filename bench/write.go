package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/kernstash/kernstash/bench/internal/chart"
	"github.com/kernstash/kernstash/bench/internal/marked"
)

// write replaces the tables and plots of RESULTS.md in a directory.
func (r *report) write(dir string) error {
	parts := map[string]string{"machine": r.machineTable(), "absent": r.absentList()}
	for _, group := range []string{groupMemory, groupKey, groupDisk, groupStart} {
		parts[group] = r.table(group)
	}
	for name, svg := range r.charts() {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(svg), 0o644); err != nil {
			return err
		}
	}
	return marked.File(filepath.Join(dir, "RESULTS.md"), parts)
}

func (r *report) machineTable() string {
	m := r.Machine
	var b strings.Builder
	b.WriteString("| | |\n|---|---|\n")
	line := func(name, value string) {
		if value != "" {
			fmt.Fprintf(&b, "| %s | %s |\n", name, value)
		}
	}
	line("CPU", fmt.Sprintf("%s, %s", m.CPU, plural(m.CPUs, "core")))
	line("Memory", fmt.Sprintf("%d GiB", m.MemoryGiB))
	line("System", m.System)
	line("File system", m.FileSystem)
	line("Go", m.Go)
	line("OpenCL device", r.Device)
	line("Measured", fmt.Sprintf("%s, commit %s, %d rounds; load of the minute before: %s", m.Date, m.Commit, r.Rounds, m.Load))
	return b.String()
}

func (r *report) absentList() string {
	var b strings.Builder
	for _, a := range r.Absent {
		fmt.Fprintf(&b, "- %s: %s\n", a.What, a.Why)
	}
	return b.String()
}

// table is a group as a Markdown table: each row, and below it its peers.
func (r *report) table(group string) string {
	var b strings.Builder
	b.WriteString("| What / compared with | kernstash | compared | ratio | bar | |\n|---|--:|--:|--:|---|---|\n")
	for _, row := range r.Rows {
		if row.Group != group {
			continue
		}
		verdict := "met"
		switch {
		case row.Bar == bar{}.String():
			verdict = ""
		case !row.Within:
			verdict = "**not met**"
		}
		fmt.Fprintf(&b, "| %s | %s | %s | %s | %s | %s |\n", row.Name, short(row.Ours), short(row.Theirs), figure(row.Ratio), row.Bar, verdict)
		for _, p := range row.Peers {
			fmt.Fprintf(&b, "| – %s | | %s | %s | | |\n", p.Name, short(p.Time), figure(1/p.Ratio))
		}
	}
	return b.String()
}

// charts returns the plots by their file names.
func (r *report) charts() map[string]string {
	caption := wrap(r.Machine.String(), 130)
	files := make(map[string]string)
	draw := func(file, title, unit string, per time.Duration, prefixes map[string]string, order ...string) {
		c := chart.Bars{Title: title, Caption: caption, Columns: 2}
		for _, prefix := range order {
			for _, row := range r.Rows {
				if strings.HasPrefix(row.Name, prefix) && len(row.Peers) > 0 {
					c.Panels = append(c.Panels, row.panel(prefixes[prefix], unit, per))
					break
				}
			}
		}
		if len(c.Panels) > 0 {
			files[file] = c.SVG()
		}
	}
	memory := map[string]string{
		"memory hit, key at hand: 1 key, 1 g":       "Hit: 1 key, 1 goroutine",
		"memory hit, key at hand: 1 key, 8 g":       "Hit: 1 key, 8 goroutines",
		"memory hit, key at hand: 4096 keys, 1 g":   "Hit: 4,096 keys, 1 goroutine",
		"memory hit, key at hand: 4096 keys, 8 g":   "Hit: 4,096 keys, 8 goroutines",
		fmt.Sprintf("%d goroutines ask", askers):    "64 goroutines ask for a key that takes 20 ms",
		"disk hit, 50 KB":                           "Hit, 50 KB, page cache warm",
		"disk put, 50 KB":                           "Put, 50 KB",
		"warm start of all of them":                 "Six real programs in a new process",
		"warm start of sha256d in a new process / ": "sha256d in a new process",
	}
	draw("results-memory.svg", "Memory tier and peers: time of a hit", "ns a hit (of all goroutines together)", time.Nanosecond, memory,
		"memory hit, key at hand: 1 key, 1 g", "memory hit, key at hand: 1 key, 8 g",
		"memory hit, key at hand: 4096 keys, 1 g", "memory hit, key at hand: 4096 keys, 8 g")
	draw("results-disk.svg", "Disk tier and peers", "µs", time.Microsecond, memory, "disk hit, 50 KB", "disk put, 50 KB")
	draw("results-start.svg", "One key for 64 goroutines; real programs in a new process", "ms", time.Millisecond, memory,
		fmt.Sprintf("%d goroutines ask", askers), "warm start of all of them")
	return files
}

// panel draws a row with its peers.
func (r result) panel(title, unit string, per time.Duration) chart.BarPanel {
	p := chart.BarPanel{Title: title, Unit: unit}
	add := func(name string, d time.Duration, k chart.Kind) {
		p.Bars = append(p.Bars, chart.Bar{Name: name, Value: float64(d) / float64(per), Kind: k})
	}
	add("kernstash", r.Ours, chart.Ours)
	_, bare, _ := strings.Cut(r.Name, " / ")
	add(bare, r.Theirs, chart.Bare)
	for _, peer := range r.Peers {
		add(peer.Name, peer.Time, chart.Other)
	}
	return p
}

// wrap breaks a line at its semicolons.
func wrap(s string, width int) (lines []string) {
	line := ""
	for part := range strings.SplitSeq(s, "; ") {
		switch {
		case line == "":
			line = part
		case len(line)+len(part) > width:
			lines, line = append(lines, line+";"), part
		default:
			line += "; " + part
		}
	}
	return append(lines, line)
}
