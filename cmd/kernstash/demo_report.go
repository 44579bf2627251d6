package main

import (
	"fmt"
	"io"
	"slices"
	"strings"
)

// origin says where a program came from.
type origin string

// The origins.
const (
	fromCompiler origin = "compiled"
	fromDisk     origin = "disk"
	fromMemory   origin = "memory"
)

// demoReport is what the demonstration found; `demo --json` writes it.
type demoReport struct {
	Runtime         string    `json:"runtime"` // opencl, cuda or levelzero
	Device          string    `json:"device"`
	Runs            int       `json:"runs"`              // processes behind each median
	CompilerStartMS float64   `json:"compiler_start_ms"` // once a process, in no row
	Programs        []demoRow `json:"programs"`
	Total           demoTimes `json:"total"`
	Apps            []demoApp `json:"unchanged"`                  // applications that know nothing of us
	NoApps          string    `json:"unchanged_reason,omitempty"` // why there are none
	OK              bool      `json:"ok"`
}

// demoTimes are times from the start of a build to its first result.
type demoTimes struct {
	ColdMS   float64 `json:"cold_ms"`
	DriverMS float64 `json:"driver_ms"` // without kernstash, what the runtime itself keeps being there
	DiskMS   float64 `json:"disk_ms"`
	MemoryMS float64 `json:"memory_ms"`

	Ratio       float64 `json:"ratio"`        // cold / disk
	DriverRatio float64 `json:"driver_ratio"` // driver / disk
}

func (t *demoTimes) ratios() {
	if t.DiskMS > 0 {
		t.Ratio, t.DriverRatio = t.ColdMS/t.DiskMS, t.DriverMS/t.DiskMS
	}
}

// demoRow is one program of the demonstration.
type demoRow struct {
	Name  string `json:"name"`
	Title string `json:"title"`
	demoTimes
	BareColdMS float64  `json:"bare_cold_ms"` // cold, without kernstash
	ColdFrom   origin   `json:"cold_from"`
	DiskFrom   origin   `json:"disk_from"`
	MemoryFrom origin   `json:"memory_from"`
	Problems   []string `json:"problems,omitempty"`
}

// check notes wrong numbers, and an answer that came from elsewhere than it
// should.
func (r *demoRow) check(wrong string, from, want origin) {
	problem := wrong
	if problem == "" && from != want {
		problem = fmt.Sprintf("came from %q instead of %q", from, want)
	}
	if problem != "" && !slices.Contains(r.Problems, problem) {
		r.Problems = append(r.Problems, problem)
	}
}

// write prints the report for people.
func (r *demoReport) write(w io.Writer, t terminal) error {
	var b strings.Builder
	if len(r.Programs) > 0 {
		if err := r.writePrograms(&b, t); err != nil {
			return err
		}
	}
	if err := r.writeApps(&b, t); err != nil {
		return err
	}
	if r.OK && len(r.Programs) > 0 {
		fmt.Fprintf(&b, "%s every number right, no second start compiled; a warm start is %.0f times faster.\n",
			t.paint(green, "OK"), r.Total.Ratio)
	} else if r.OK {
		fmt.Fprintf(&b, "%s no second start compiled.\n", t.paint(green, "OK"))
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func (r *demoReport) writePrograms(b *strings.Builder, t terminal) error {
	rt, err := findDemoRuntime(r.Runtime)
	if err != nil {
		return err
	}
	fmt.Fprintf(b, "%s\n", t.paint(bold, fmt.Sprintf("%s, %s", rt.title, printable(r.Device, false))))
	fmt.Fprintf(b, "From the start of the build to the first result, in ms; numbers checked in every run.\n\n")
	rows := newTable("PROGRAM", ">COLD", ">"+strings.ToUpper(rt.peer), ">DISK", ">MEMORY", ">COLD/DISK", ">"+strings.ToUpper(rt.peerWord())+"/DISK", "ANSWERS FROM")
	for _, p := range r.Programs {
		rows.add(append(p.cells(p.Name), fmt.Sprintf("%s, %s, %s", p.ColdFrom, p.DiskFrom, p.MemoryFrom))...)
	}
	rows.add(append(r.Total.cells("all")[:], "")...)
	if err := rows.write(b); err != nil {
		return err
	}
	b.WriteByte('\n')
	for _, p := range r.Programs {
		p.bars(b, t, rt.peerWord())
	}
	fmt.Fprintf(b, "Starting the compiler took %s ms more in the cold process, counted in no row.\n", figures(r.CompilerStartMS))
	fmt.Fprintf(b, "%s\n", rt.peerNote)
	fmt.Fprintf(b, "That and disk: medians of %s each; disk with an empty driver's cache.\n",
		plural(r.Runs, "fresh process"))
	for _, p := range r.Programs {
		for _, text := range p.Problems {
			fmt.Fprintf(b, "%s %s: %s\n", t.paint(red, "WRONG"), p.Name, printable(text, false))
		}
	}
	return nil
}

func (t demoTimes) cells(name string) []string {
	return []string{
		name, figures(t.ColdMS), figures(t.DriverMS), figures(t.DiskMS), figures(t.MemoryMS),
		fmt.Sprintf("%.0f x", t.Ratio), fmt.Sprintf("%.1f x", t.DriverRatio),
	}
}

// bars draws a program's times, its cold one over the whole width.
func (r *demoRow) bars(b *strings.Builder, t terminal, peer string) {
	const label = 20
	width := max(t.width-label, 10)
	fmt.Fprintf(b, "%s (%s)\n", t.paint(bold, r.Title), r.Name)
	for _, bar := range []struct {
		name, color string
		ms          float64
	}{{"cold", red, r.ColdMS}, {peer, yellow, r.DriverMS}, {"disk", green, r.DiskMS}, {"memory", cyan, r.MemoryMS}} {
		share := 0.0
		if r.ColdMS > 0 {
			share = bar.ms / r.ColdMS
		}
		fmt.Fprintf(b, "  %-7s %8s  %s\n", bar.name, figures(bar.ms), t.paint(bar.color, t.bar(share, width)))
	}
	b.WriteByte('\n')
}
