// Command bench measures what the cache costs, as ratios to what is compared
// with in the same run: bare system calls, a bare hash, a bare map, and other
// people's caches.
//
//	go run . [-rounds 15] [-json FILE] [-check] [-write ../docs]
//
// Each row takes turns between the sides, so that a noisy machine disturbs all
// alike, and reports the median of the rounds. With -check only rows with a bar
// are measured, without peers, and the exit status is 1 if one is over its bar
// in each of three tries. With -write the tables and plots of docs/RESULTS.md
// are replaced.
package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"strings"

	"github.com/kernstash/kernstash/bench/internal/machine"
)

func main() {
	var o choice
	flag.IntVar(&o.rounds, "rounds", 15, "how often each side of a row is measured, 16 ms each")
	flag.BoolVar(&o.check, "check", false, "measure only rows with a bar; fail if one is over it")
	flag.StringVar(&o.only, "only", "", "measure only rows whose name contains this")
	flag.BoolVar(&o.starts, "starts", true, "measure starts of real programs (needs an OpenCL device)")
	asJSON := flag.String("json", "", "write everything to this file; - for standard output, in place of the table")
	write := flag.String("write", "", "replace the tables and plots of RESULTS.md in this directory")
	flag.Parse()
	report, err := o.run(context.Background())
	if err == nil && *asJSON != "-" {
		report.print(os.Stdout)
	}
	if err == nil && *asJSON != "" {
		err = report.writeJSON(*asJSON)
	}
	if err == nil && *write != "" {
		err = report.write(*write)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
	for _, r := range report.Rows {
		if o.check && !r.Within {
			os.Exit(1)
		}
	}
}

// choice says what to measure.
type choice struct {
	rounds        int
	check, starts bool
	only          string
}

// setting is where rows are measured.
type setting struct {
	dir      string
	barsOnly bool // rows with bars, no peers
	ends     []func()
}

// atEnd has f called after the rows of the group.
func (s *setting) atEnd(f func()) { s.ends = append(s.ends, f) }

func (s *setting) end() {
	for _, f := range s.ends {
		f()
	}
	s.ends = nil
}

// The groups of rows.
const (
	groupMemory = "memory"
	groupKey    = "key"
	groupDisk   = "disk"
	groupStart  = "start"
)

var groups = []struct {
	name string
	rows func(*setting) ([]row, error)
}{
	{groupMemory, memoryRows},
	{groupMemory, coalesceRows},
	{groupMemory, fullRows},
	{groupKey, keyRows},
	{groupKey, headerRows},
	{groupDisk, diskRows},
	{groupDisk, manyRows},
	{groupDisk, evictRows},
}

// run measures. Progress goes to standard error.
func (o choice) run(ctx context.Context) (*report, error) {
	dir, err := os.MkdirTemp("", "kernstash-bench")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	tries := 1
	if o.check {
		tries = 3
	}
	out := &report{Machine: machine.Here(dir), Rounds: o.rounds, Absent: absent}
	s := &setting{dir: dir, barsOnly: o.check}
	for _, g := range groups {
		rows, err := g.rows(s)
		if err != nil {
			return nil, err
		}
		for _, r := range rows {
			if strings.Contains(r.name, o.only) && (!o.check || r.bar != bar{}) {
				fmt.Fprintln(os.Stderr, r.name)
				got := r.measureUntilWithin(o.rounds, tries)
				got.Group = g.name
				out.Rows = append(out.Rows, got)
			}
		}
		s.end()
	}
	if o.starts && !o.check && o.only == "" {
		fmt.Fprintln(os.Stderr, "starts of real programs")
		got, err := measureStarts(ctx, dir)
		if err != nil {
			out.Absent = append(out.Absent, absentRow{"warm starts of real programs", err.Error()})
		} else {
			out.Device, out.Rows = got.Device, append(out.Rows, got.results()...)
		}
	}
	return out, nil
}

func (r *report) writeJSON(path string) error {
	to := os.Stdout
	if path != "-" {
		f, err := os.Create(path)
		if err != nil {
			return err
		}
		defer f.Close()
		to = f
	}
	enc := json.NewEncoder(to)
	enc.SetIndent("", "  ")
	return enc.Encode(r)
}
