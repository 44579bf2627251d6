package demo

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kernstash/kernstash/cmd/kernstash/internal/demo/programs"
	"github.com/kernstash/kernstash/cmd/kernstash/internal/terminal"
)

// reportOf makes what a child would report if each program took d.
func reportOf(d time.Duration, from programs.Origin, memory bool) childReport {
	r := childReport{Runtime: "opencl", Device: "device"}
	for range programs.All() {
		c := childProgram{Total: d, From: from}
		if memory {
			c.Memory, c.MemoryFrom = []time.Duration{d / 10}, programs.FromMemory
		}
		r.Programs = append(r.Programs, c)
	}
	return r
}

func TestDemoReport(t *testing.T) {
	t.Parallel()
	const ms = time.Millisecond
	cold, fill := reportOf(300*ms, programs.FromCompiler, false), reportOf(300*ms, "", false)
	peer := []childReport{reportOf(30*ms, "", false)}
	warm := func() []childReport {
		return []childReport{reportOf(3*ms, programs.FromDisk, true), reportOf(9*ms, programs.FromDisk, true), reportOf(4*ms, programs.FromDisk, true)}
	}

	good := newReport(cold, fill, warm(), peer)
	want := times{ColdMS: 300, DriverMS: 30, DiskMS: 4, MemoryMS: 0.4, Ratio: 75, DriverRatio: 7.5}
	if diff := cmp.Diff(want, good.Programs[0].times); diff != "" {
		t.Errorf("times (-want +got):\n%s", diff)
	}
	if !good.OK || good.Total.ColdMS != 300*float64(len(programs.All())) {
		t.Errorf("%+v", good)
	}

	for name, tt := range map[string]struct {
		spoil   func(r *childProgram)
		problem string
	}{
		"second start compiled": {func(r *childProgram) { r.From = programs.FromCompiler }, `came from "compiled" instead of "disk"`},
		"wrong number":          {func(r *childProgram) { r.Wrong = "3 is not 4" }, "3 is not 4"},
		"memory from disk":      {func(r *childProgram) { r.MemoryFrom = programs.FromDisk }, `came from "disk" instead of "memory"`},
	} {
		runs := warm()
		tt.spoil(&runs[1].Programs[2])
		bad := newReport(cold, fill, runs, peer)
		if bad.OK {
			t.Errorf("%s: passed", name)
		}
		if diff := cmp.Diff([]string{tt.problem}, bad.Programs[2].Problems); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
		if text := bad.text(terminal.Terminal{Width: 80}); !strings.Contains(text, "WRONG "+bad.Programs[2].Name) || strings.Contains(text, "OK every") {
			t.Errorf("%s: not told:\n%s", name, text)
		}
	}
}

func TestDemoReportFitsATerminal(t *testing.T) {
	t.Parallel()
	r := newReport(reportOf(3*time.Second, programs.FromCompiler, false), reportOf(1, "", false),
		[]childReport{reportOf(time.Millisecond, programs.FromDisk, true)}, []childReport{reportOf(time.Millisecond, "", false)})
	text := r.text(terminal.Terminal{Width: 80})
	for line := range strings.Lines(text) {
		if strings.Contains(line, "####") && len(strings.TrimSuffix(line, "\n")) > 80 {
			t.Errorf("%d columns: %s", len(line), line)
		}
	}
	for _, c := range text {
		if c > 127 {
			t.Errorf("%q in plain output", c)
		}
	}
}

func TestMedian(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		in   []time.Duration
		want time.Duration
	}{{nil, 0}, {[]time.Duration{3}, 3}, {[]time.Duration{9, 1, 2}, 2}, {[]time.Duration{4, 1, 2, 9}, 3}} {
		if got := median(tt.in); got != tt.want {
			t.Errorf("%v: %v, want %v", tt.in, got, tt.want)
		}
	}
}
