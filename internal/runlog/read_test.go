package runlog

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestRead(t *testing.T) {
	t.Parallel()
	const text = `{"event":"loaded","pid":7,"front_end":"opencl-layer"}
{"event":"loaded","pid":8,"front_end":"opencl-layer"}
{"event":"out","pid":9,"reason":"address space is limited"}
{"event":"asked","pid":7,"key":"ab","label":"vecadd","outcome":"compiled","reason":"there is no such entry","nearest":"the build options","spent_ms":1500,"bytes":10}
{"event":"asked","pid":7,"key":"ab","label":"vecadd","outcome":"memory"}
{"event":"asked","pid":8,"key":"ab","label":"vecadd","outcome":"disk","spent_ms":2.5,"saved_ms":1497.5,"bytes":10}
{"event":"asked","pid":8,"key":"ab","label":"vecadd","outcome":"disk","spent_ms":2.5,"saved_ms":1497.5,"bytes":10,"of a later version":[1]}
{"event":"asked","pid":8,"key":"ij","outcome":"disk","spent_ms":2,"saved_ms":5,"bytes":1,"layer":"/opt/kernels"}
{"event":"asked","pid":8,"outcome":"passed","reason":"binary"}
{"event":"asked","pid":8,"key":"cd","outcome":"failed","reason":"error: x","spent_ms":1}
{"event":"asked","pid":8,"key":"ef","outcome":"compiled","reason":"observed","observed":"equal","spent_ms":10}
{"event":"asked","pid":8,"key":"gh","outcome":"compiled","reason":"observed","observed":"different","spent_ms":10}
{"event":"job","pid":7,"key":"ab"}

{"event":"asked","pid":8,"outcome":"found"}
{"event":"asked","pid":0,"outcome":"disk"}
{"event":"asked","pid":8,"outco{"event":"out","pid":9}
not JSON
{"event":"loaded","pid":7}`
	s, err := Read(strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	ms := time.Millisecond
	want := &Summary{
		Processes: 3,
		FrontEnds: []Count{{"opencl-layer", 2}, {"", 1}},
		Out:       []Count{{"address space is limited", 1}},
		Outcomes:  Outcomes{Asked: 9, Memory: 1, Disk: 3, Compiled: 3, Passed: 1, Failed: 1},
		Spent:     1528 * ms, Compiled: 1520 * ms, Saved: 3000 * ms, Bytes: 21,
		Layers:   []Count{{"/opt/kernels", 1}},
		Compiles: []Count{{"observed", 2}, {"the build options", 1}},
		Passes:   []Count{{"binary", 1}},
		Failures: []Count{{"error: x", 1}},
		Uses: []Use{{
			What: "", Outcomes: Outcomes{Asked: 9, Memory: 1, Disk: 3, Compiled: 3, Passed: 1, Failed: 1}, Spent: 1528 * ms,
			Why: []Count{{"observed", 2}, {"binary", 1}, {"error: x", 1}, {"the build options", 1}},
		}},
		Observations: Observations{WouldHit: 2, Equal: 1, Different: 1}, Jobs: 1,
		Programs: []Program{
			{Key: "ab", Label: "vecadd", Outcome: Compiled, Reason: "there is no such entry", Nearest: "the build options", Requests: 1, Spent: 1500 * ms, Bytes: 10},
			{Key: "ab", Label: "vecadd", Outcome: Memory, Requests: 1},
			{Key: "ab", Label: "vecadd", Outcome: Disk, Requests: 2, Spent: 5 * ms, Saved: 2995 * ms, Bytes: 10},
			{Key: "ij", Outcome: Disk, Layer: "/opt/kernels", Requests: 1, Spent: 2 * ms, Saved: 5 * ms, Bytes: 1},
			{Outcome: Passed, Reason: "binary", Requests: 1},
			{Key: "cd", Outcome: Failed, Reason: "error: x", Requests: 1, Spent: ms},
			{Key: "ef", Outcome: Compiled, Reason: "observed", Observed: Equal, Requests: 1, Spent: 10 * ms},
			{Key: "gh", Outcome: Compiled, Reason: "observed", Observed: Different, Requests: 1, Spent: 10 * ms},
		},
		Timeline: []Span{}, // of lines without the time
		Garbage:  4,
	}
	if diff := cmp.Diff(want, s); diff != "" {
		t.Error(diff)
	}
}

// TestReadIsBounded: neither a line without end nor one program after the other
// takes more memory than the bounds allow.
func TestReadIsBounded(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	b.WriteString(strings.Repeat("x", 10*MaxLine) + "\n")
	for i := range maxDetails + 10 {
		fmt.Fprintf(&b, `{"event":"asked","pid":%d,"label":"%d","outcome":"passed","reason":"%d"}`+"\n", i+1, i, i)
	}
	s, err := Read(strings.NewReader(b.String()))
	if err != nil {
		t.Fatal(err)
	}
	if s.Garbage != 1 || s.Outcomes.Passed != maxDetails+10 || len(s.Programs) != maxDetails || s.More != 10 || s.Cut {
		t.Errorf("garbage %d, passed %d, programs %d and %d more, cut %v",
			s.Garbage, s.Outcomes.Passed, len(s.Programs), s.More, s.Cut)
	}
	if len(s.Passes) > maxDetails+1 || s.Passes[0] != (Count{"", 10}) {
		t.Errorf("%d reasons, the first %v", len(s.Passes), s.Passes[0])
	}
}

type endless struct{}

func (endless) Read(b []byte) (int, error) {
	n := copy(b, `{"event":"out","pid":9}`+"\n")
	return n, nil
}

func TestReadEnds(t *testing.T) {
	t.Parallel()
	const most = 1 << 20
	s, err := read(endless{}, most)
	if err != nil || !s.Cut || len(s.Out) != 1 || s.Out[0].N != most/24 {
		t.Errorf("%+v, %v", s, err)
	}
}

// FuzzRead: no text makes the reader fail, and every line is counted once.
func FuzzRead(f *testing.F) {
	f.Add(`{"event":"loaded","pid":7,"front_end":"opencl-layer"}` + "\n" + `{"event":"asked","pid":7,"outcome":"disk","spent_ms":1e300,"saved_ms":-1}`)
	f.Add("{\"event\":\"job\",\"pid\":7}\n\n\x00{{\n[]")
	f.Add(strings.Repeat("y", MaxLine) + "\n{}")
	f.Fuzz(func(t *testing.T, text string) {
		s, err := Read(strings.NewReader(text))
		if err != nil {
			t.Fatal(err)
		}
		lines := 0
		for l := range strings.SplitSeq(text, "\n") {
			if len(strings.TrimSpace(l)) > 0 || len(l) >= MaxLine {
				lines++
			}
		}
		events := s.Garbage + s.Outcomes.Asked + s.Jobs
		for _, c := range append(append([]Count{}, s.FrontEnds...), s.Out...) {
			events += c.N
		}
		if events != lines {
			t.Errorf("%d events of %d lines", events, lines)
		}
		o := s.Outcomes
		if o.Asked != o.Memory+o.Disk+o.Compiled+o.Passed+o.Failed {
			t.Errorf("outcomes %+v", o)
		}
	})
}

// TestJobsOfAProgram: a program for which launches are added is one job.
func TestJobsOfAProgram(t *testing.T) {
	t.Parallel()
	s, err := Read(strings.NewReader(`{"event":"job","pid":1,"key":"a"}
{"event":"job","pid":1,"key":"a","label":"k"}
{"event":"job","pid":2,"key":"b"}
{"event":"job","pid":2}
`))
	if err != nil || s.Jobs != 3 {
		t.Errorf("%d jobs, %v", s.Jobs, err)
	}
}

// TestFrontEndsOfAProcess: a front end that says twice that it is there is one.
func TestFrontEndsOfAProcess(t *testing.T) {
	t.Parallel()
	s, err := Read(strings.NewReader(`{"event":"loaded","pid":1,"front_end":"opencl-layer"}
{"event":"loaded","pid":1,"front_end":"opencl-layer","exe":"/bin/x"}
{"event":"loaded","pid":2,"front_end":"opencl-layer"}
{"event":"loaded","pid":2,"front_end":"c"}
{"event":"loaded","pid":3,"front_end":"opencl-preload"}
{"event":"asked","pid":3,"front_end":"opencl-layer","outcome":"disk"}
{"event":"loaded","pid":3,"front_end":"opencl-layer","exe":"/bin/x"}
`))
	if diff := cmp.Diff([]Count{{"opencl-layer", 2}, {"c", 1}, {"opencl-preload", 1}}, s.FrontEnds); diff != "" || err != nil {
		t.Error(diff, err)
	}
}
