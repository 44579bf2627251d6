//go:build linux

package units_test

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/kernstash/kernstash/internal/timing"
	"github.com/kernstash/kernstash/shim/opencl/internal/stage"
)

// units is the program of units.c in a directory of its own, with the library.
type units struct {
	*stage.Stage
	t          *testing.T
	env, plain []string             // with the layer, and without
	without    map[[2]string]string // what same's steps say without it, by header and steps
}

// The units, and the header that they read: k makes VALUE and one more.
var unitFiles = map[string]string{
	"a.cl":        "#include \"value.h\"\nint value(void) { return VALUE; }\n",
	"b.cl":        "#define X(x) <x>\n#include X(value.h)\nint value(void);\nkernel void k(global int *p) { *p = value() * 100 + VALUE; }\n",
	"c.cl":        "int value(void);\nkernel void k(global int *p) { *p = -value(); }\n",
	"d.cl":        "#include \"lib/value.h\"\nint value(void);\nkernel void k(global int *p) { *p = value() * 100 + VALUE; }\n",
	"m.cl":        "#include \"given.h\"\n#include \"lib/value.h\"\nint value(void) { return VALUE + GIVEN; }\n",
	"n.cl":        "#include \"given.h\"\nint value(void) { return GIVEN; }\n",
	"inc/none.h":  "",
	"lib/value.h": "#define VALUE 1\n",
}

func newUnits(t *testing.T, d stage.Driver) *units {
	t.Helper()
	u := &units{Stage: stage.New(t, d), t: t}
	u.plain = []string{"UNITS_OPTIONS=-I inc -I lib"}
	if d.Name != "pocl" {
		u.plain = append(u.plain, "UNITS_COMPILE_ONLY=1")
	}
	u.env = append(u.WithLibrary(t), u.plain...)
	for name, text := range unitFiles {
		u.write(name, text)
	}
	return u
}

func (u *units) write(name, text string) {
	u.t.Helper()
	path := filepath.Join(u.Path("work"), name)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		u.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		u.t.Fatal(err)
	}
}

// do runs the steps and holds what it says against want; ended is how the requests
// to the cache ended, in the order of the steps, and behind them those that no unit
// has a name for.
func (u *units) do(what, steps, want string, ended ...string) (r stage.Result) {
	u.t.Helper()
	r = u.MustRun(u.t, append(u.env, fmt.Sprintf("UNITS_ASKED=%d", len(ended))), "units", arguments(steps)...)
	if got := strings.ReplaceAll(strings.TrimSpace(r.Out), "\n", "; "); got != want {
		u.t.Errorf("%s: it says %q, want %q", what, got, want)
	}
	labels := u.labels(steps)
	var got []string
	for line := range strings.Lines(r.Report) {
		var e struct{ Event, Label, Outcome, Reason string }
		if err := json.Unmarshal([]byte(line), &e); err != nil {
			u.t.Fatalf("%s: %v", line, err)
		}
		if e.Event == "asked" {
			got = append(got, labels[e.Label]+" "+e.Outcome)
		}
	}
	// What was compiled is told of when it is known why, in the background: its line
	// may come behind those of later requests.
	named := u.named(steps)
	for i := range ended {
		ended[i] = append(named, make([]string, len(ended))...)[i] + " " + ended[i]
	}
	slices.Sort(got)
	slices.Sort(ended)
	if len(ended) > 0 && !slices.Equal(got, ended) {
		u.t.Errorf("%s: requests ended %q, want %q:\n%s", what, got, ended, r.Report)
	}
	return r
}

// arguments returns steps as the program takes them.
func arguments(steps string) (args []string) {
	for _, s := range strings.Split(steps, "; ") {
		n := 3
		if s[0] == 'o' {
			n = 2
		}
		args = append(args, strings.SplitN(s, " ", n)...)
	}
	return args
}

// named returns what the steps ask the cache for.
func (u *units) named(steps string) (names []string) {
	for _, s := range strings.Split(steps, "; ") {
		if strings.Contains("clib", s[:1]) {
			names = append(names, s[2:])
		}
	}
	return names
}

// labels returns what the report calls those: the kernel of a restored link, else
// the length of the code.
func (u *units) labels(steps string) map[string]string {
	labels := make(map[string]string)
	for _, name := range u.named(steps) {
		if strings.Contains(name, "y") {
			continue // a library
		}
		size := 0
		for unit := range strings.SplitSeq(name, ",") {
			size += len(unitFiles[unit+".cl"])
		}
		label := fmt.Sprintf("%d bytes", size)
		if was := labels[label]; was != "" && was != name {
			u.t.Fatalf("%s and %s have the same length", was, name)
		}
		labels[label] = name
		if strings.Contains(name, ",") {
			labels["k"] = name
		}
	}
	return labels
}

// work has the worker do what was left for it.
func (u *units) work() {
	u.t.Helper()
	cmd := exec.Command(stage.Command(u.t), "--dir", u.Path("cache"), "worker", "run", "--once", "--normal-priority")
	cmd.Env = append(os.Environ(), "KERNSTASH_WORKER=")
	if out, err := cmd.CombinedOutput(); err != nil || !strings.Contains(string(out), " 0 dropped, 0 not possible here") {
		u.t.Fatalf("worker: %v\n%s", err, out)
	}
}

const (
	disk     = "disk"
	compiled = "compiled"
	passed   = "passed"
)

// Units that read header files are known at the second start, compiled and linked,
// after the worker has been there on a driver that makes code at launches.
func TestUnitsThatReadHeaders(t *testing.T) {
	t.Parallel()
	for _, d := range stage.Drivers {
		t.Run(d.Name, func(t *testing.T) {
			t.Parallel()
			if d.Name != "intel" {
				timing.Long(t)
			}
			u := newUnits(t, d)
			made := map[string]string{"pocl": "made 101", "intel": "made 0"}[d.Name]
			all := "a 0; b 0; " + made
			u.do("cold", "c a; c b; l a,b", all, compiled, compiled, compiled)
			if d.Name == "pocl" {
				u.work()
			}
			u.do("warm", "c a; c b; l a,b", all, disk, disk, disk)
			if !timing.IsLong() {
				return
			}
			u.do("in another order, which is another link", "c b; c a; l b,a", "b 0; a 0; "+made, disk, disk, compiled)
			u.do("its binary", "c a; c b; i a,b", all, disk, disk, disk, passed)
		})
	}
}

// A header that is edited between two processes, or one that stands earlier on
// the search path, is noticed.
func TestHeadersOfUnitsChange(t *testing.T) {
	timing.Long(t)
	t.Parallel()
	u := newUnits(t, stage.PoCL)
	u.do("cold", "c a; c b; l a,b", "a 0; b 0; made 101", compiled, compiled, compiled)
	u.work()
	u.do("warm", "c a; c b; l a,b", "a 0; b 0; made 101", disk, disk, disk)
	u.write("lib/value.h", "#define VALUE 2\n")
	u.do("edited", "c a; c b; l a,b", "a 0; b 0; made 202", compiled, compiled, compiled)
	u.write("inc/value.h", "#define VALUE 3\n")
	u.do("fresh", "c a; c b; l a,b", "a 0; b 0; made 303", compiled, compiled, compiled)
	u.work()
	u.do("warm with it", "c a; c b; l a,b", "a 0; b 0; made 303", disk, disk, disk)
	u.write("lib/value.h", "#define VALUE 1\n")
	if err := os.Remove(filepath.Join(u.Path("work"), "inc/value.h")); err != nil {
		t.Fatal(err)
	}
	u.do("as at first", "c a; c b; l a,b", "a 0; b 0; made 101", disk, disk, disk)
}

// What an application changes between its own calls: a link means what its units
// were compiled of.
func TestHeadersOfUnitsChangeBeforeTheLink(t *testing.T) {
	timing.Long(t)
	t.Parallel()
	const rewrite = "c a; w lib/value.h #define VALUE 2; c b; l a,b; w lib/value.h #define VALUE 1"
	u := newUnits(t, stage.PoCL)
	u.do("cold", rewrite, "a 0; b 0; made 102", compiled, compiled, compiled)
	u.do("again, of a header without a line's end", rewrite, "a 0; b 0; made 102", compiled, disk, compiled)
	u.do("again", rewrite, "a 0; b 0; made 102", disk, disk, compiled)
	u.do("the same units of other files", "c a; c b; l a,b", "a 0; b 0; made 101")
	u.do("the other way round", "w lib/value.h #define VALUE 2; c a; w lib/value.h #define VALUE 1; c b; l a,b", "a 0; b 0; made 201")
	u.do("both, and the link after that", "c a; c b; w lib/value.h #define VALUE 7; c a; c b; w lib/value.h #define VALUE 1; l a,b", "a 0; b 0; a 0; b 0; made 707")
	u = newUnits(t, stage.PoCL)
	u.do("cold", "c a; c b; l a,b", "a 0; b 0; made 101", compiled, compiled, compiled)
	u.work()
	u.do("known, and linked from the cache when its header is another one",
		"c a; c b; w lib/value.h #define VALUE 7; l a,b; c a; c b; l a,b", "a 0; b 0; made 101; a 0; b 0; made 707",
		disk, disk, disk, compiled, compiled, compiled)
}

// same is do where the program says without the layer what it says with it, starting
// from the same header.
func (u *units) same(header, what, steps, want string, ended ...string) stage.Result {
	u.t.Helper()
	if u.without == nil {
		u.without = make(map[[2]string]string)
	}
	got, ok := u.without[[2]string{header, steps}]
	if !ok {
		u.write("lib/value.h", header)
		r := u.MustRun(u.t, u.plain, "units", arguments(steps)...)
		got = strings.ReplaceAll(strings.TrimSpace(r.Out), "\n", "; ")
		u.without[[2]string{header, steps}] = got
	}
	if got != want {
		u.t.Errorf("%s, without the layer: it says %q, want %q", what, got, want)
	}
	u.write("lib/value.h", header)
	return u.do(what, steps, want, ended...)
}

// A compilation that was skipped, and is wanted when its header is another one, or
// gone, or in a child, gives what it would have given.
func TestCompilationsThatComeLate(t *testing.T) {
	t.Parallel()
	const one, other = "#define VALUE 1\n", "w lib/value.h #define VALUE 2"
	for _, d := range stage.Drivers {
		t.Run(d.Name, func(t *testing.T) {
			t.Parallel()
			if d.Name != "intel" {
				timing.Long(t)
			}
			u := newUnits(t, d)
			made := func(pocl string) string {
				if d.Name == "pocl" {
					return "made " + pocl
				}
				return "made 0"
			}
			u.same(one, "cold", "c a; c b; l a,b", "a 0; b 0; "+made("101"), compiled, compiled, compiled)
			u.same(one, "asked for", "c a; q a; c c; l a,c", "a 0; binary 0 there; c 0; "+made("-1"), disk, compiled, compiled)
			// On PoCL the link is not stored: no worker was there.
			stored := map[string]string{"pocl": compiled, "intel": disk}[d.Name]
			// c, which reads no files and had been found, is compiled for the link.
			changed := []string{disk, disk, stored}
			if stored == compiled {
				changed = append(changed, compiled)
			}
			u.same(one, "changed before the link", "c a; c c; "+other+"; l a,c", "a 0; c 0; "+made("-1"), changed...)
			if !timing.IsLong() {
				return
			}
			u.same(one, "linked in a child, changed", "c a; c b; "+other+"; f a,b", "a 0; b 0; "+made("101"), disk, disk, passed)
			u.same(one, "changed before it is asked for", "c a; c b; "+other+"; q a; l a,b", "a 0; b 0; binary 0 there; "+made("101"), disk, disk, stored)
			u.same(one, "broken before the link", "c a; c b; w lib/value.h #error; i a,b", "a 0; b 0; "+made("101"), disk, disk, stored, passed)
			u.same(one, "linked in a child", "c a; c b; f a,b", "a 0; b 0; "+made("101"), disk, disk, passed)
			u.same(one, "compiled again, changed", "c a; c b; "+other+"; c a; l a,b", "a 0; b 0; a 0; "+made("201"))
			u.same("#define VALUE 3\n", "another", "c a; c b; "+other+"; l a,b", "a 0; b 0; "+made("303"), compiled, compiled, compiled)
			u.same("#define VALUE 3\n", "another, known", "c a; c b; "+other+"; f a,b", "a 0; b 0; "+made("303"), disk, disk, passed)
		})
	}
}

// Links that are the driver's: each works as without the layer, with what is known
// of its units, and is counted with its reason.
func TestLinksThatPass(t *testing.T) {
	t.Parallel()
	const one, unknown = "#define VALUE 1\n", "link of unknown inputs"
	tested := stage.Drivers
	if os.Getenv("KERNSTASH_TEST_LONG") != "1" {
		tested = tested[1:]
	}
	for _, d := range tested {
		t.Run(d.Name, func(t *testing.T) {
			t.Parallel()
			u := newUnits(t, d)
			made := map[string]string{"pocl": "made 101", "intel": "made 0"}[d.Name]
			for _, round := range []string{compiled, disk} {
				for reason, c := range map[string]struct{ steps, want string }{
					"units with different options": {"c a; o -I inc -I lib -D OTHER; c b; l a,b", "a 0; b 0; " + made},
					"library":                      {"c a; y a; c b; r b", "a 0; library 1; b 0"},
					unknown:                        {"c a; y a; o -I inc -I lib -D THIRD; c b; l y,b", "a 0; library 1; b 0; " + made},
				} {
					if reason == unknown && !timing.IsLong() {
						continue
					}
					r := u.same(one, round+", "+reason, c.steps, c.want)
					if strings.Count(r.Report, `"outcome":"passed","reason":"`+reason+`"`) != 1 {
						t.Errorf("%s, %s: the report is\n%s", round, reason, r.Report)
					}
					if n := strings.Count(r.Report, `"outcome":"disk"`); round == disk && n != 2 {
						t.Errorf("%s: %d units known, want 2", reason, n)
					}
				}
			}
		})
	}
}

// A launch that is recorded in a command buffer is one.
func TestCommandBuffers(t *testing.T) {
	t.Parallel()
	timing.Long(t)
	u := newUnits(t, stage.PoCL)
	r := u.do("cold", "c a; c b; b a,b", "a 0; b 0; made 101", compiled, compiled, compiled)
	if !strings.Contains(r.Report, `"event":"job"`) || !strings.Contains(r.Report, `"label":"k"`) {
		t.Errorf("the launch was not told:\n%s", r.Report)
	}
	u.work()
	u.do("warm", "c a; c b; b a,b", "a 0; b 0; made 101", disk, disk, disk)
}

// A compiled unit answers as without the layer, compiled or not.
func TestCompiledUnitsAnswer(t *testing.T) {
	t.Parallel()
	for _, d := range stage.Drivers {
		t.Run(d.Name, func(t *testing.T) {
			t.Parallel()
			if d.Name != "pocl" {
				timing.Long(t)
			}
			u := newUnits(t, d)
			plain := func(steps string) string {
				return strings.ReplaceAll(strings.TrimSpace(u.MustRun(t, u.plain, "units", arguments(steps)...).Out), "\n", "; ")
			}
			all := []string{"c d; c b; q b; k b; k d"}
			if timing.IsLong() {
				all = append(all, "c b; k b", "c b; q b; k b")
			}
			for _, steps := range all {
				want := plain(steps)
				u.do("first, "+steps, steps, want)
				u.do("second, "+steps, steps, want)
			}
			u.plain, u.env = append(u.plain, "UNITS_OPTIONS="), append(u.env, "UNITS_OPTIONS=")
			want := plain("c d; k d")
			u.do("without options", "c d; k d", want)
			u.do("without options, known", "c d; k d", want, disk)
		})
	}
}

// A unit with headers in memory is known beside one that reads files. One that has
// both is the driver's: it may prefer either.
func TestUnitsWithHeadersInMemory(t *testing.T) {
	t.Parallel()
	u := newUnits(t, stage.PoCL)
	u.env = append(u.env, "UNITS_OPTIONS=")
	const beside = "c d; h given.h #define GIVEN 7; c n; l n,d"
	u.do("cold", beside, "d 0; n 0; made 701", compiled, compiled, compiled)
	u.work()
	u.do("warm", beside, "d 0; n 0; made 701", disk, disk, disk)
	u.do("another in memory", strings.Replace(beside, "7", "8", 1), "d 0; n 0; made 801", disk, compiled, compiled)
	u.write("lib/value.h", "#define VALUE 2\n")
	// n had been found, and is compiled for the link.
	u.do("another file", beside, "d 0; n 0; made 702", compiled, disk, compiled, compiled)
	if !timing.IsLong() {
		return
	}

	const both = "c d; h given.h #define GIVEN 7; c m; l m,d"
	for range 2 {
		u.do("both", both, "d 0; m 0; made 902")
	}
	u.write("lib/value.h", "#define VALUE 3\n")
	u.do("both, edited", both, "d 0; m 0; made 1003")
}
