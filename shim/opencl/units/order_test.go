//go:build linux

package units_test

import (
	"strings"
	"testing"

	"github.com/kernstash/kernstash/internal/timing"
	"github.com/kernstash/kernstash/shim/opencl/internal/stage"
)

// Units of which the order of a link tells what is made: of two weak functions, and of two
// kernels.
var orderFiles = map[string]string{
	"v.cl": "__attribute__((weak)) int f(void) { return 1; }\n",
	"w.cl": "__attribute__((weak)) int f(void) { return 2; }\n",
	"x.cl": "int f(void);\nkernel void k(global int *p) { *p = f(); }\n",
	"y.cl": "kernel void one(global int *p) { *p = 1; }\n",
	"z.cl": "kernel void two(global int *p) { *p = 2; }\n",
}

// newOrdered is newUnits with those; without options.
func newOrdered(t *testing.T, d stage.Driver) *units {
	u := newUnits(t, d)
	for name, text := range orderFiles {
		u.write(name, text)
	}
	u.plain, u.env = append(u.plain, "UNITS_OPTIONS="), append(u.env, "UNITS_OPTIONS=")
	return u
}

// run returns what the steps say, in one line.
func (u *units) run(env []string, steps string) (said string, r stage.Result) {
	u.t.Helper()
	r = u.MustRun(u.t, env, "units", arguments(steps)...)
	return strings.ReplaceAll(strings.TrimSpace(r.Out), "\n", "; "), r
}

// The inputs of a link count in their order: what is found says what the driver says, and
// each order has an entry of its own.
func TestOrderOfInputs(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		d     stage.Driver
		steps []string
	}{
		{stage.PoCL, []string{"c v; c w; c x; l x,v,w", "c v; c w; c x; l x,w,v"}},
		{stage.Intel, []string{"c y; c z; n y,z", "c y; c z; n z,y", "c y; c z; d y,z", "c y; c z; d z,y"}},
	} {
		t.Run(c.d.Name, func(t *testing.T) {
			t.Parallel()
			if !timing.IsLong() {
				c.steps = c.steps[:2]
			}
			u := newOrdered(t, c.d)
			want, said := make(map[string]string), make(map[string]bool)
			for _, steps := range c.steps {
				want[steps], _ = u.run(u.plain, steps)
				said[want[steps]] = true
			}
			for _, round := range []string{"cold", "warm"} {
				for _, steps := range c.steps {
					got, r := u.run(append(u.env, "UNITS_ASKED=3"), steps)
					if got != want[steps] {
						t.Errorf("%s, %s: it says %q, and %q without the layer", round, steps, got, want[steps])
					}
					if round == "warm" && strings.Contains(r.Report, `"outcome":"compiled"`) {
						t.Errorf("%s, %s: compiled\n%s", round, steps, r.Report)
					}
				}
				if c.d.Name == "pocl" && round == "cold" {
					u.work()
				}
			}
			if len(said) != len(c.steps) {
				t.Errorf("the driver itself makes no difference: %v", said)
			}
		})
	}
}

// Link options of NULL and of "" are two where the driver tells them apart.
func TestLinkOptionsOfNull(t *testing.T) {
	timing.Long(t)
	t.Parallel()
	u := newOrdered(t, stage.PoCL)
	u.write("y.cl", "kernel void k(global int *named) { *named = 1; }\n")
	all := []string{"c y; a y", "c y; O ; a y"}
	want := make(map[string]string)
	for _, steps := range all {
		want[steps], _ = u.run(u.plain, steps)
	}
	if want[all[0]] == want[all[1]] {
		t.Errorf("the driver itself makes no difference: %v", want)
	}
	for _, round := range []string{"cold", "warm"} {
		for _, steps := range all {
			got, r := u.run(append(u.env, "UNITS_ASKED=2"), steps)
			if got != want[steps] || round == "warm" && strings.Contains(r.Report, `"outcome":"compiled"`) {
				t.Errorf("%s, %s: it says %q, and %q without the layer\n%s", round, steps, got, want[steps], r.Report)
			}
		}
		if round == "cold" {
			u.work()
		}
	}
}

// A unit that is built in one step, and one that is compiled and linked, are two: Intel's
// driver keeps SPIR-V in the binary of the first alone.
func TestBuiltOrLinked(t *testing.T) {
	t.Parallel()
	const built, linked = "e y", "c y; d y"
	u := newOrdered(t, stage.Intel)
	want := make(map[string]string)
	for _, steps := range []string{built, linked} {
		want[steps], _ = u.run(u.plain, steps)
	}
	if strings.HasSuffix(want[linked], want[built]) {
		t.Errorf("the driver makes the same of both: %s", want[built])
	}
	for _, order := range [][]string{{built, linked}, {linked, built}} {
		u := newOrdered(t, stage.Intel)
		times := 1
		if timing.IsLong() {
			times = 2
		}
		for range times {
			for _, steps := range order {
				if got, r := u.run(u.env, steps); got != want[steps] {
					t.Errorf("%s first, %s: it says %q, want %q\n%s", order[0], steps, got, want[steps], r.Report)
				}
			}
		}
	}
}
