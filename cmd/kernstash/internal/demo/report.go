package demo

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/kernstash/kernstash/cmd/kernstash/internal/demo/programs"
	"github.com/kernstash/kernstash/cmd/kernstash/internal/runtimes"
	"github.com/kernstash/kernstash/cmd/kernstash/internal/terminal"
	"github.com/kernstash/kernstash/gpu/tool"
	"github.com/kernstash/kernstash/internal/human"
)

// report is what the demonstration found; `demo --json` writes it.
type report struct {
	Runtime         string        `json:"runtime"`
	Device          string        `json:"device"`
	Runs            int           `json:"runs"`              // processes behind each median
	CompilerStartMS float64       `json:"compiler_start_ms"` // once a process, in no row
	Programs        []row         `json:"programs"`
	Total           times         `json:"total"`
	Apps            []application `json:"unchanged"`                  // applications that know nothing of us
	NoApps          string        `json:"unchanged_reason,omitempty"` // why there are none
	OK              bool          `json:"ok"`

	runtime *tool.Runtime
}

// times are times from the start of a build to its first result.
type times struct {
	ColdMS   float64 `json:"cold_ms"`
	DriverMS float64 `json:"driver_ms"` // kernstash being off, what the runtime itself keeps being there
	DiskMS   float64 `json:"disk_ms"`
	MemoryMS float64 `json:"memory_ms"`

	Ratio       float64 `json:"ratio"`        // cold / disk
	DriverRatio float64 `json:"driver_ratio"` // driver / disk
}

func (t *times) ratios() {
	if t.DiskMS > 0 {
		t.Ratio, t.DriverRatio = t.ColdMS/t.DiskMS, t.DriverMS/t.DiskMS
	}
}

// row is one program of the demonstration.
type row struct {
	Name  string `json:"name"`
	Title string `json:"title"`
	times
	BareColdMS float64         `json:"bare_cold_ms"` // cold, kernstash being off
	ColdFrom   programs.Origin `json:"cold_from"`
	DiskFrom   programs.Origin `json:"disk_from"`
	MemoryFrom programs.Origin `json:"memory_from"`
	Problems   []string        `json:"problems,omitempty"`
}

// check notes a wrong number, or an answer that came from elsewhere than it should, and
// then from where in *is.
func (r *row) check(wrong string, is *programs.Origin, from, want programs.Origin) {
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

// newReport puts together what the processes measured.
func newReport(cold, fill childReport, disk, driver []childReport) *report {
	r := &report{Runtime: cold.Runtime, Device: cold.Device, Runs: len(disk), CompilerStartMS: human.Millis(cold.WarmUp), OK: true, runtime: runtimes.Named(cold.Runtime)}
	for i, p := range programs.All() {
		row := row{Name: p.Name, Title: p.Title, BareColdMS: human.Millis(fill.Programs[i].Total)}
		row.ColdMS = human.Millis(cold.Programs[i].Total)
		row.check(cold.Programs[i].Wrong, &row.ColdFrom, cold.Programs[i].From, programs.FromCompiler)
		var warm, memory, peer []time.Duration
		for _, of := range disk {
			got := of.Programs[i]
			warm, memory = append(warm, got.Total), append(memory, got.Memory...)
			row.check(got.Wrong, &row.DiskFrom, got.From, programs.FromDisk)
			row.check("", &row.MemoryFrom, got.MemoryFrom, programs.FromMemory)
		}
		for _, of := range append(driver, fill) {
			row.check(of.Programs[i].Wrong, new(programs.Origin), "", "")
			peer = append(peer, of.Programs[i].Total)
		}
		row.DiskMS, row.MemoryMS = human.Millis(median(warm)), human.Millis(median(memory))
		row.DriverMS = human.Millis(median(peer[:len(driver)]))
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

// text returns the report for people.
func (r *report) text(t terminal.Terminal) string {
	var b strings.Builder
	if len(r.Programs) > 0 {
		r.writePrograms(&b, t)
	}
	if r.NoApps != "" {
		fmt.Fprintf(&b, "No unchanged application was run: %s\n", human.Printable(r.NoApps, false))
	}
	if len(r.Apps) > 0 {
		r.writeApps(&b)
	}
	wrong := func(name string, problems []string) {
		for _, text := range problems {
			fmt.Fprintf(&b, "%s %s: %s\n", t.Paint(terminal.Red, "WRONG"), name, human.Printable(text, false))
		}
	}
	for _, p := range r.Programs {
		wrong(p.Name, p.Problems)
	}
	for _, a := range r.Apps {
		wrong(filepath.Base(a.Command[0]), a.Problems)
	}
	switch {
	case r.OK && len(r.Programs) > 0:
		fmt.Fprintf(&b, "%s every number right, no second start compiled; a warm start is %.0f times faster.\n",
			t.Paint(terminal.Green, "OK"), r.Total.Ratio)
	case r.OK:
		fmt.Fprintf(&b, "%s no second start compiled.\n", t.Paint(terminal.Green, "OK"))
	}
	return human.WrapLines(b.String(), 0, t.Width)
}

func (r *report) writePrograms(b *strings.Builder, t terminal.Terminal) {
	peer := strings.ToUpper(r.runtime.Peer)
	word, _, _ := strings.Cut(peer, "'")
	fmt.Fprintf(b, "%s\nFrom the start of the build to the first result, in ms; numbers checked each time.\n\n",
		t.Paint(terminal.Bold, fmt.Sprintf("%s, %s", r.runtime.Title, human.Printable(r.Device, false))))
	head := []string{"PROGRAM", ">COLD", ">" + peer, ">DISK", ">MEMORY", ">COLD/DISK", ">" + word + "/DISK"}
	var rows [][]string
	for _, p := range append(r.Programs, row{Name: "all", times: r.Total}) {
		rows = append(rows, []string{
			p.Name, human.Figures(p.ColdMS), human.Figures(p.DriverMS), human.Figures(p.DiskMS), human.Figures(p.MemoryMS),
			fmt.Sprintf("%.0f x", p.Ratio), fmt.Sprintf("%.1f x", p.DriverRatio),
		})
	}
	_ = terminal.WriteTable(b, head, rows) // of a strings.Builder none fails
	fmt.Fprintf(b, "\nStarting the compiler took %s ms more in the cold process, counted in no row.\n%s\n"+
		"That and disk: medians of %s each; disk with an empty driver's cache.\n",
		human.Figures(r.CompilerStartMS), r.runtime.Note, human.Plural(r.Runs, "fresh process"))
}

func (r *report) writeApps(b *strings.Builder) {
	b.WriteString("Applications that know nothing of kernstash, from start to end, in ms:\n\n")
	var rows [][]string
	for _, a := range r.Apps {
		words := append([]string{filepath.Base(a.Command[0])}, a.Command[1:]...)
		rows = append(rows, []string{
			human.Printable(strings.Join(words, " "), false), human.Figures(a.AloneMS), human.Figures(a.AgainMS),
			human.Figures(a.ColdMS), human.Figures(a.WarmMS), fmt.Sprintf("%.1f x", a.Ratio),
		})
	}
	_ = terminal.WriteTable(b, []string{"APPLICATION", ">ALONE", ">AGAIN", ">COLD", ">WARM", ">ALONE/WARM"}, rows)
	fmt.Fprintf(b, "\nAlone: without kernstash, the driver's own cache empty; again: filled by the first. "+
		"Cold and warm:\nunder 'kernstash run', the driver's cache empty; warm: the median of %s.\n", human.Plural(warmApps, "run"))
}
