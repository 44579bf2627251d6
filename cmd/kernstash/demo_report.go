package main

import (
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/kernstash/kernstash/internal/demo"
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
	DriverMS float64 `json:"driver_ms"` // kernstash being off, what the runtime itself keeps being there
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
	BareColdMS float64  `json:"bare_cold_ms"` // cold, kernstash being off
	ColdFrom   origin   `json:"cold_from"`
	DiskFrom   origin   `json:"disk_from"`
	MemoryFrom origin   `json:"memory_from"`
	Problems   []string `json:"problems,omitempty"`
}

// check notes a wrong number, or an answer that came from elsewhere than it should, and
// then from where in *is.
func (r *demoRow) check(wrong string, is *origin, from, want origin) {
	if *is == "" || from != want {
		*is = from
	}
	if wrong == "" && from != want {
		wrong = fmt.Sprintf("came from %q instead of %q", from, want)
	}
	if wrong != "" && !slices.Contains(r.Problems, wrong) {
		r.Problems = append(r.Problems, wrong)
	}
}

// newDemoReport puts together what the processes measured.
func newDemoReport(cold, fill childReport, disk, driver []childReport) *demoReport {
	r := &demoReport{Runtime: cold.Runtime, Device: cold.Device, Runs: len(disk), CompilerStartMS: millis(cold.WarmUp), OK: true}
	for i, p := range demo.All() {
		row := demoRow{Name: p.Name, Title: p.Title, BareColdMS: millis(fill.Programs[i].Total)}
		row.ColdMS = millis(cold.Programs[i].Total)
		row.check(cold.Programs[i].Wrong, &row.ColdFrom, cold.Programs[i].From, fromCompiler)
		var warm, memory, peer []time.Duration
		for _, of := range disk {
			got := of.Programs[i]
			warm, memory = append(warm, got.Total), append(memory, got.Memory...)
			row.check(got.Wrong, &row.DiskFrom, got.From, fromDisk)
			row.check("", &row.MemoryFrom, got.MemoryFrom, fromMemory)
		}
		for _, of := range append(driver, fill) {
			row.check(of.Programs[i].Wrong, new(origin), "", "")
		}
		for _, of := range driver {
			peer = append(peer, of.Programs[i].Total)
		}
		row.DiskMS, row.MemoryMS, row.DriverMS = millis(median(warm)), millis(median(memory)), millis(median(peer))
		row.ratios()
		r.OK = r.OK && len(row.Problems) == 0
		r.Programs = append(r.Programs, row)
		r.Total.ColdMS += row.ColdMS
		r.Total.DriverMS += row.DriverMS
		r.Total.DiskMS += row.DiskMS
		r.Total.MemoryMS += row.MemoryMS
	}
	r.Total.ratios()
	return r
}

// write prints the report for people.
func (r *demoReport) write(w io.Writer, t terminal) error {
	var b strings.Builder
	var err error
	if len(r.Programs) > 0 {
		err = r.writePrograms(&b, t)
	}
	if r.NoApps != "" {
		fmt.Fprintf(&b, "No unchanged application was run: %s\n", printable(r.NoApps, false))
	}
	if err == nil && len(r.Apps) > 0 {
		err = r.writeApps(&b)
	}
	if err != nil {
		return err
	}
	for _, p := range r.Programs {
		wrong(&b, t, p.Name, p.Problems)
	}
	for _, a := range r.Apps {
		wrong(&b, t, filepath.Base(a.Command[0]), a.Problems)
	}
	switch {
	case r.OK && len(r.Programs) > 0:
		fmt.Fprintf(&b, "%s every number right, no second start compiled; a warm start is %.0f times faster.\n",
			t.paint(green, "OK"), r.Total.Ratio)
	case r.OK:
		fmt.Fprintf(&b, "%s no second start compiled.\n", t.paint(green, "OK"))
	}
	_, err = io.WriteString(w, wrapLines(b.String(), 0, t.width))
	return err
}

func wrong(b *strings.Builder, t terminal, name string, problems []string) {
	for _, text := range problems {
		fmt.Fprintf(b, "%s %s: %s\n", t.paint(red, "WRONG"), name, printable(text, false))
	}
}

func (r *demoReport) writePrograms(b *strings.Builder, t terminal) error {
	rt := machineRuntime{title: r.Runtime}
	for _, known := range machineRuntimes {
		if known.name == r.Runtime {
			rt = known
		}
	}
	peer := strings.ToUpper(rt.peer)
	word, _, _ := strings.Cut(peer, "'")
	fmt.Fprintf(b, "%s\n", t.paint(bold, fmt.Sprintf("%s, %s", rt.title, printable(r.Device, false))))
	b.WriteString("From the start of the build to the first result, in ms; numbers checked each time.\n\n")
	rows := newTable("PROGRAM", ">COLD", ">"+peer, ">DISK", ">MEMORY", ">COLD/DISK", ">"+word+"/DISK")
	add := func(name string, t demoTimes) {
		rows.add(name, figures(t.ColdMS), figures(t.DriverMS), figures(t.DiskMS), figures(t.MemoryMS),
			fmt.Sprintf("%.0f x", t.Ratio), fmt.Sprintf("%.1f x", t.DriverRatio))
	}
	for _, p := range r.Programs {
		add(p.Name, p.demoTimes)
	}
	add("all", r.Total)
	if err := rows.write(b); err != nil {
		return err
	}
	fmt.Fprintf(b, "\nStarting the compiler took %s ms more in the cold process, counted in no row.\n%s\n"+
		"That and disk: medians of %s each; disk with an empty driver's cache.\n",
		figures(r.CompilerStartMS), rt.note, plural(r.Runs, "fresh process"))
	return nil
}

func (r *demoReport) writeApps(b *strings.Builder) error {
	b.WriteString("Applications that know nothing of kernstash, from start to end, in ms:\n\n")
	rows := newTable("APPLICATION", ">ALONE", ">AGAIN", ">COLD", ">WARM", ">ALONE/WARM")
	for _, a := range r.Apps {
		words := append([]string{filepath.Base(a.Command[0])}, a.Command[1:]...)
		rows.add(printable(strings.Join(words, " "), false), figures(a.AloneMS), figures(a.AgainMS),
			figures(a.ColdMS), figures(a.WarmMS), fmt.Sprintf("%.1f x", a.Ratio))
	}
	if err := rows.write(b); err != nil {
		return err
	}
	fmt.Fprintf(b, "\nAlone: without kernstash, the driver's own cache empty; again: filled by the first. "+
		"Cold and warm:\nunder 'kernstash run', the driver's cache empty; warm: the median of %s.\n", plural(warmApps, "run"))
	return nil
}
