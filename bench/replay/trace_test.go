package main

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

var unexported = cmp.AllowUnexported(request{})

func TestTraceFile(t *testing.T) {
	t.Parallel()
	const text = "seconds,process,key,bytes,cost_ms\n0.000,7,a,1000,250.0\n1.500,7,\"b,c\",2000,0.5\n"
	want := []request{
		{0, "7", "a", 1000, 250 * time.Millisecond},
		{1500 * time.Millisecond, "7", "b,c", 2000, 500 * time.Microsecond},
	}
	got, err := readTrace(strings.NewReader(text))
	if diff := cmp.Diff(want, got, unexported); err != nil || diff != "" {
		t.Errorf("read: %v, %s", err, diff)
	}
	var b strings.Builder
	if err := writeTrace(&b, want); err != nil || b.String() != text {
		t.Errorf("written: %v, %q", err, b.String())
	}
}

func TestBadTraceFiles(t *testing.T) {
	t.Parallel()
	for name, lines := range map[string]string{
		"empty":       "",
		"few fields":  "a,b\n",
		"no number":   "seconds,process,key,bytes,cost_ms\nx,1,a,1,1\n",
		"no bytes":    "seconds,process,key,bytes,cost_ms\n0,1,a,0,1\n",
		"not ordered": "seconds,process,key,bytes,cost_ms\n2,1,a,1,1\n1,1,a,1,1\n",
	} {
		if _, err := readTrace(strings.NewReader(lines)); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

// TestConvert: a hit's cost is what it saved and what loading took; of a miss,
// the put that follows counts, if something was stored.
func TestConvert(t *testing.T) {
	t.Parallel()
	const text = `time=2026-01-02T10:00:00.000Z level=DEBUG msg=miss pid=5 tier=disk key=aa reason="not \"in\" the cache"
time=2026-01-02T10:00:01.000Z level=INFO msg="miss explained" pid=5 tier=disk key=aa nearest=00 why="nothing near it"
time=2026-01-02T10:00:01.000Z level=DEBUG msg=put pid=5 tier=disk key=aa result=1 bytes=1000 cost=1.5s
time=2026-01-02T10:00:01.500Z level=DEBUG msg=put pid=6 tier=disk key=aa result=3 bytes=1000 cost=1.4s
time=2026-01-02T10:00:03.000Z level=DEBUG msg=hit pid=6 tier=disk key=aa bytes=1000 load=2ms saved=1.498s
time=2026-01-02T10:00:03.000Z level=WARN msg="not stored" pid=6 tier=disk key=bb error="disk full"
`
	want := []request{
		{0, "5", "aa", 1000, 1500 * time.Millisecond},
		{2 * time.Second, "6", "aa", 1000, 1500 * time.Millisecond},
	}
	got, err := convert(strings.NewReader(text), 0)
	if diff := cmp.Diff(want, got, unexported); err != nil || diff != "" {
		t.Errorf("%v, %s", err, diff)
	}
}

// TestSpace: processes begin an hour apart, whatever was recorded.
func TestSpace(t *testing.T) {
	t.Parallel()
	trace := []request{{at: 5, process: "1"}, {at: 9, process: "1"}, {at: 11, process: "2"}, {at: 11 + 2*time.Hour, process: "2"}, {at: 12 + 2*time.Hour, process: "1"}}
	space(trace, time.Hour)
	for i, want := range []time.Duration{0, 4, time.Hour, 2 * time.Hour, 2 * time.Hour} {
		if trace[i].at != want {
			t.Errorf("request %d at %v, want %v", i, trace[i].at, want)
		}
	}
}
