package timeline

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kernstash/kernstash/cmd/kernstash/internal/terminal"
	"github.com/kernstash/kernstash/internal/runlog"
	"github.com/kernstash/kernstash/internal/timing"
)

var begun = time.Date(2026, 11, 26, 12, 0, 0, 0, time.UTC)

// span returns a request that ended so many milliseconds after the run began.
func span(pid int, outcome runlog.Outcome, waited, spent, ended int) runlog.Span {
	ms := func(n int) time.Duration { return time.Duration(n) * time.Millisecond }
	return runlog.Span{
		PID: pid, Exe: fmt.Sprintf("/bin/p%d", pid), Key: "ab", Label: "k", Outcome: outcome,
		Ended: begun.Add(ms(ended)), Waited: ms(waited), Spent: ms(spent),
	}
}

func example() *Run {
	return &Run{Command: []string{"x", "y"}, Begun: begun, Millis: 1000, Requests: []runlog.Span{
		span(7, runlog.Compiled, 0, 300, 400),
		span(7, runlog.Failed, 0, 300, 500), // of it 200 at the same time
		span(7, runlog.Disk, 0, 10, 600),
		span(8, runlog.Disk, 250, 20, 670), // waits while the other compiles
		span(8, runlog.Passed, 0, 0, 700),
		span(8, runlog.Memory, 50, 0, 800),
	}}
}

// From where programs came, and what was used of a bundle, is said.
func TestFrom(t *testing.T) {
	t.Parallel()
	for report, want := range map[string]string{
		`"from_layers": [{"what": "/opt/kernels", "n": 3}, {"what": "the agent", "n": 1}]`:                          "  found: 3 from /opt/kernels, 1 from the agent\n",
		`"from_layers": [{"what": "/b", "n": 2}], "restored": {"dir": "/b", "entries": 5, "hits": 2}`:               "  found: 2 from /b\n  of the bundle: 2 programs found\n",
		`"restored": {"dir": "/b", "entries": 5, "hits": 0, "caches": [{"name": "triton"}], "ignored": ["triton"]}`: "  of the bundle: inert, no program was found among 5 entries; triton: left alone, as you have set its variables\n",
		`"exit_status": 0`: "",
	} {
		r, err := parse([]byte(`{"command": ["x"], "begun": "2026-11-26T12:00:00Z", "elapsed_ms": 5, "timeline": [], ` + report + `}`))
		if err != nil {
			t.Fatal(err)
		}
		var b strings.Builder
		if err := r.Where().WriteText(&b, terminal.Terminal{}); err != nil {
			t.Fatal(err)
		}
		_, got, _ := strings.Cut(b.String(), "all else 5.00 ms\n")
		got = strings.TrimSuffix(got, "  nothing was asked of the cache that took time\n")
		if got != want {
			t.Errorf("%s: %q, want %q", report, got, want)
		}
	}
}

func TestWhere(t *testing.T) {
	t.Parallel()
	r := example()
	want := &Where{
		Command: r.Command, Begun: begun, Millis: 1000, Programs: []runlog.Program{},
		Times:   Times{CompilingMS: 400, LoadingMS: 30, WaitingMS: 300},
		OtherMS: 1000 - 620, // compiling or waiting from 100 to 650, loading from 650 to 670, waiting from 750 to 800
		Processes: []Process{
			{PID: 7, Program: "p7", Asked: 3, Times: Times{CompilingMS: 400, LoadingMS: 10}},
			{PID: 8, Program: "p8", Asked: 3, Times: Times{LoadingMS: 20, WaitingMS: 300}},
		},
		Longest: []runlog.Span{r.Requests[0], r.Requests[1], r.Requests[3], r.Requests[5], r.Requests[2], r.Requests[4]},
	}
	if diff := cmp.Diff(want, r.Where()); diff != "" {
		t.Error(diff)
	}
}

// TestTrace: what is written is the format, and says what the run says.
func TestTrace(t *testing.T) {
	t.Parallel()
	var b bytes.Buffer
	if err := Write(&b, example()); err != nil {
		t.Fatal(err)
	}
	want := []string{
		"command: 0+1000 x y",
		"p7/1: 100+300 compiling k", "p7/2: 200+300 compiling k", "p7/1: 590+10 loading k",
		"p8/1: 400+250 waiting k", "p8/1: 650+20 loading k", "p8/1: 700 passed k", "p8/1: 750+50 waiting k",
	}
	got, err := check(b.Bytes())
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(want)
	slices.Sort(got)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// check reads a trace as its specification says, strictly, and returns its events; there is no
// validator of the format.
func check(b []byte) (all []string, err error) {
	var trace struct {
		Events []struct {
			Name, Cat, Ph, S string
			TS, Dur          *float64
			PID, TID         *int
			Args             map[string]any
		} `json:"traceEvents"`
		DisplayTimeUnit string            `json:"displayTimeUnit"`
		OtherData       map[string]string `json:"otherData"`
	}
	dec := json.NewDecoder(bytes.NewReader(b))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&trace); err != nil {
		return nil, err
	}
	if trace.DisplayTimeUnit != "ms" {
		return nil, fmt.Errorf("unit %q", trace.DisplayTimeUnit)
	}
	processes, tracks, until := make(map[int]string), make(map[int]int), make(map[int]float64)
	numbers := make(map[int]int) // of tracks in their process
	owned := make(map[int]int)
	for _, e := range trace.Events {
		if e.Ph == "M" && e.Name == "process_name" {
			processes[*e.PID] = e.Args["name"].(string)
		}
		if e.Ph == "M" && e.Name == "thread_name" {
			if _, twice := tracks[*e.TID]; twice {
				return nil, fmt.Errorf("track %d is there twice", *e.TID)
			}
			tracks[*e.TID] = *e.PID
			owned[*e.PID]++
			numbers[*e.TID] = owned[*e.PID]
		}
	}
	for _, e := range trace.Events {
		if e.PID == nil || e.TID == nil || e.TS == nil || *e.TS < 0 || e.Name == "" {
			return nil, fmt.Errorf("%+v is not whole", e)
		}
		if strings.ContainsFunc(e.Name, func(r rune) bool { return r < ' ' || r == 0x7f || r == 0x202e }) {
			return nil, fmt.Errorf("the name %q", e.Name)
		}
		if e.Ph == "M" {
			continue
		}
		process, ok := processes[*e.PID]
		if !ok || tracks[*e.TID] != *e.PID {
			return nil, fmt.Errorf("%s: process or track has no name", e.Name)
		}
		of := fmt.Sprintf("%s/%d", process, numbers[*e.TID])
		if process == "kernstash run" {
			of = "command"
		}
		const ms = 1000
		switch {
		case e.Ph == "X" && e.Dur != nil && *e.Dur > 0:
			if *e.TS < until[*e.TID]-1e-3 {
				return nil, fmt.Errorf("%s begins before the end of the one before", e.Name)
			}
			until[*e.TID] = *e.TS + *e.Dur
			all = append(all, fmt.Sprintf("%s: %v+%v %s", of, *e.TS/ms, *e.Dur/ms, e.Name))
		case e.Ph == "i" && e.S == "t" && e.Dur == nil:
			all = append(all, fmt.Sprintf("%s: %v %s", of, *e.TS/ms, e.Name))
		default:
			return nil, fmt.Errorf("%s: phase %q", e.Name, e.Ph)
		}
	}
	return all, nil
}

// TestTraceOfAnything: whatever a report says, the trace is one.
func TestTraceOfAnything(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(timing.Seed(t), 1))
	outcomes := []runlog.Outcome{runlog.Disk, runlog.Memory, runlog.Compiled, runlog.Failed, runlog.Passed}
	labels := []string{"", "k", "a, b, c, d, e", "\x1b[31m\nx", "\u202etxt", "</script>", `"\`}
	for range 200 {
		r := &Run{Command: []string{labels[rng.IntN(len(labels))] + "x"}, Begun: begun, Millis: 1 + float64(rng.IntN(1000))}
		for range rng.IntN(30) {
			s := span(1+rng.IntN(4), outcomes[rng.IntN(len(outcomes))], rng.IntN(50), rng.IntN(50), rng.IntN(1000)-10)
			s.Label, s.Exe = labels[rng.IntN(len(labels))], labels[rng.IntN(len(labels))]
			r.Requests = append(r.Requests, s)
		}
		var b bytes.Buffer
		if err := Write(&b, r); err != nil {
			t.Fatal(err)
		}
		if _, err := check(b.Bytes()); err != nil {
			t.Fatalf("%v\n%s", err, b.Bytes())
		}
		w := r.Where()
		for _, p := range w.Processes {
			if p.CompilingMS > w.CompilingMS+1e-6 || p.WaitingMS > w.WaitingMS+1e-6 {
				t.Fatalf("a process %+v has more than all, %+v", p, w.Times)
			}
		}
	}
}

func TestReadFile(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	whole, err := json.Marshal(example())
	if err != nil {
		t.Fatal(err)
	}
	files := map[string]string{
		"whole": string(whole), "empty": "", "no JSON": "{", "another": `{"a": 1}`, "a list": "[]",
		"no time":   `{"command":["x"],"timeline":[]}`,
		"for years": `{"command":["x"],"timeline":[],"begun":"2026-01-01T00:00:00Z","elapsed_ms":1e300}`,
	}
	for _, name := range slices.Sorted(maps.Keys(files)) {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(files[name]), 0o600); err != nil {
			t.Fatal(err)
		}
		got, err := ReadFile(path)
		if (err == nil) != (name == "whole") {
			t.Errorf("%s: %v", name, err)
		}
		if diff := cmp.Diff(example(), got); err == nil && diff != "" {
			t.Error(diff)
		}
	}
	if _, err := ReadFile(dir); err == nil {
		t.Error("a directory was read")
	}
}

// FuzzParse: what is read can be told and traced.
func FuzzParse(f *testing.F) {
	whole, err := json.Marshal(example())
	if err != nil {
		f.Fatal(err)
	}
	f.Add(whole)
	f.Add([]byte(`{"command":["x"],"timeline":[{"pid":1,"outcome":"disk","ended":"0001-01-01T00:00:00Z","spent_ms":1e9}],"begun":"2026-01-01T00:00:00Z","elapsed_ms":1}`))
	f.Fuzz(func(t *testing.T, b []byte) {
		r, err := parse(b)
		if err != nil {
			return
		}
		w := r.Where()
		if w.OtherMS < 0 || w.CompilingMS < 0 {
			t.Errorf("%+v", w)
		}
		var out bytes.Buffer
		if err := Write(&out, r); err != nil {
			t.Fatal(err)
		}
		if !json.Valid(out.Bytes()) {
			t.Errorf("no JSON: %s", out.Bytes())
		}
		if err := w.WriteText(&out, terminal.Terminal{}); err != nil {
			t.Fatal(err)
		}
	})
}
