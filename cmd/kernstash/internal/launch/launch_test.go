package launch

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/kernstash/kernstash/cmd/kernstash/internal/cli"
	"github.com/kernstash/kernstash/internal/runlog"
	"github.com/kernstash/kernstash/stats"
)

// TestEveryMissHasWords: a reason of the core's is no counter's name for people.
func TestEveryMissHasWords(t *testing.T) {
	t.Parallel()
	for c := range stats.Counter(stats.NumCounters) {
		if text := c.String(); strings.HasPrefix(text, "miss.") && inWords(text) == text {
			t.Errorf("%v has no words", c)
		}
	}
}

func TestLists(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ list, first, last string }{
		{"", "x", "x"}, {"a", "x:a", "a:x"}, {"a:b", "x:a:b", "a:b:x"}, {"a:x:b", "a:x:b", "a:x:b"}, {"xx", "x:xx", "xx:x"},
	} {
		if got := first(tt.list, "x", ":"); got != tt.first {
			t.Errorf("%q: %q, want %q", tt.list, got, tt.first)
		}
		if got := last(tt.list, "x", ": "); got != tt.last {
			t.Errorf("%q: %q, want %q", tt.list, got, tt.last)
		}
	}
	if got := last("a x", "x", ": "); got != "a x" {
		t.Errorf("with a space: %q", got)
	}
}

func TestEnviron(t *testing.T) {
	t.Parallel()
	e := environ{"A=1", "B=2", "A=3", "odd", "BB=4"}
	if e.get("A") != "1" || e.get("C") != "" || e.get("odd") != "" {
		t.Error(e.get("A"), e.get("C"), e.get("odd"))
	}
	got := e.with([]Variable{{"A", "x"}, {"C", ""}})
	if diff := cmp.Diff(environ{"B=2", "odd", "BB=4", "A=x", "C="}, got); diff != "" {
		t.Error(diff)
	}
	if e[0] != "A=1" {
		t.Error("it was changed")
	}
}

// TestReportIsSafe: what programs are called does nothing to a terminal.
func TestReportIsSafe(t *testing.T) {
	t.Parallel()
	s, err := runlog.Read(strings.NewReader(`{"event":"asked","pid":1,"label":"a\u001b[31mb\nc","outcome":"passed","reason":"x\u001b]0;y\u0007"}
garbage`))
	if err != nil {
		t.Fatal(err)
	}
	var o Outcome
	o.fill(s)
	var b strings.Builder
	o.write(&b, true, 0)
	if strings.ContainsAny(b.String(), "\x1b\x07") || strings.Count(b.String(), "\n") != 6 {
		t.Errorf("%q", b.String())
	}
}

// TestReportFits: long names of kernels and reasons fit the terminal, and nothing is lost.
func TestReportFits(t *testing.T) {
	t.Parallel()
	kernel := strings.Repeat("kernel_", 4)
	s, err := runlog.Read(strings.NewReader(fmt.Sprintf(
		`{"event":"asked","pid":1,"key":"ab12","label":"%[1]s1, %[1]s2, %[1]s3","outcome":"compiled","reason":"%[2]s","spent_ms":1500}`+"\n",
		kernel, strings.Repeat("word ", 30))))
	if err != nil {
		t.Fatal(err)
	}
	var o Outcome
	o.fill(s)
	var b strings.Builder
	o.write(&b, true, 80)
	for line := range strings.Lines(b.String()) {
		if n := utf8.RuneCountInString(strings.TrimRight(line, "\n")); n > 80 {
			t.Errorf("%d columns: %s", n, line)
		}
	}
	if n := strings.Count(b.String(), "word"); n != 60 || !strings.Contains(b.String(), kernel+"3") {
		t.Errorf("something is lost (%d words):\n%s", n, b.String())
	}
}

func TestModes(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		o    Options
		want string
	}{
		{Options{ReadOnly: true}, "KERNSTASH_MODE=read-only"},
		{Options{Observe: true, Global: cli.Global{Set: []string{"eviction=lru"}}}, "KERNSTASH_MODE=observe KERNSTASH_EVICTION=lru"},
		{Options{NoCache: true}, "KERNSTASH_DISABLE=1"},
		{Options{}, ""},
		{Options{NoCache: true, Refresh: true}, "--refresh and --no-cache: choose one"},
		{Options{Global: cli.Global{Set: []string{"x"}}}, "--set x: want NAME=VALUE"},
		{Options{Global: cli.Global{Set: []string{"x=1"}}}, "setting x (flag): there is no such setting"},
	} {
		var got []string
		tt.o.Inject = InjectAuto
		all, err := tt.o.Variables()
		for _, v := range all {
			got = append(got, v.Name+"="+v.Value)
		}
		if err != nil {
			got = []string{err.Error()}
		}
		if text := strings.Join(got, " "); text != tt.want {
			t.Errorf("%+v: %q, want %q", tt.o, text, tt.want)
		}
	}
}

// TestManyKernels: people are told a few names of a program, machines all.
func TestManyKernels(t *testing.T) {
	t.Parallel()
	kernels := make([]string, 60)
	for i := range kernels {
		kernels[i] = fmt.Sprintf("kernel_with_a_name_of_some_length_%02d", i)
	}
	whole := strings.Join(kernels, ", ") // 2278 bytes
	path := filepath.Join(t.TempDir(), "report")
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	e := runlog.Event{Kind: runlog.Asked, PID: 1, Label: whole, Outcome: runlog.Disk, Exe: "/bin/x", FrontEnd: "opencl-layer"}
	if err := runlog.At(path).Write(e); err != nil {
		t.Fatal(err)
	}
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	s, err := runlog.Read(f)
	if err != nil {
		t.Fatal(err)
	}
	var o Outcome
	o.fill(s)
	if o.Programs[0].Label != whole {
		t.Errorf("JSON has %d bytes of %d: %s", len(o.Programs[0].Label), len(whole), o.Programs[0].Label)
	}
	var b strings.Builder
	o.write(&b, true, 0)
	if want := strings.Join(kernels[:3], ", ") + " and 57 more\n"; !strings.Contains(b.String(), want) {
		t.Errorf("want %q in\n%s", want, b.String())
	}
}
