//go:build linux

package units_test

import (
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/kernstash/kernstash/internal/runlog"
	"github.com/kernstash/kernstash/internal/timing"
	"github.com/kernstash/kernstash/shim/opencl/internal/stage"
)

// summary is what the report of a run says.
func (u *units) summary() *runlog.Summary {
	u.t.Helper()
	f, err := os.Open(u.Path("report"))
	if err != nil {
		u.t.Fatal(err)
	}
	defer f.Close()
	s, err := runlog.Read(f)
	if err != nil {
		u.t.Fatal(err)
	}
	return s
}

// What is found, and has to be compiled nevertheless for a library, counts as compiled, and
// saves nothing; from the first such unit on the process skips none.
func TestUnitsOfLibraries(t *testing.T) {
	t.Parallel()
	u := newOrdered(t, stage.Intel)
	u.env = append(u.env, "UNITS_ASKED=4")
	const steps = "c x; c v; y v; c w"
	want, _ := u.run(u.plain, steps)
	rounds := []string{"cold", "warm"}
	if timing.IsLong() {
		rounds = append(rounds, "warm")
	}
	for _, round := range rounds {
		got, _ := u.run(u.env, steps)
		if got != want {
			t.Errorf("%s: it says %q, want %q", round, got, want)
		}
		s := u.summary()
		if round == "cold" {
			continue
		}
		// x and v were found, v was compiled for the library, w for it would be next.
		if s.Outcomes.Disk != 2 || s.Outcomes.Compiled != 2 || s.Outcomes.Passed != 1 {
			t.Errorf("%s: %+v", round, s.Outcomes)
		}
		var found, undone float64
		for _, p := range s.Programs {
			if p.Outcome == runlog.Compiled && p.Reason != runlog.ReasonWanted {
				t.Errorf("%s: compiled as %q", round, p.Reason)
			}
			if p.Saved > 0 {
				found += p.Saved.Seconds()
			} else {
				undone -= p.Saved.Seconds()
			}
		}
		if undone <= 0 || undone >= found {
			t.Errorf("%s: %f s saved, %f s of that undone", round, found, undone)
		}
	}
}

// IGC keeps its switches from its first compilation: a variable that is set during a build
// that is none of the cache's business makes all that follows another compiler's.
func TestVariableDuringAPassedBuild(t *testing.T) {
	t.Parallel()
	u := newOrdered(t, stage.Intel)
	const during, plain = "v IGC_ForceOCLSIMDWidth 8; p y; x IGC_ForceOCLSIMDWidth; e z", "e z"
	want, _ := u.run(u.plain, plain)
	other, _ := u.run(u.plain, during)
	if want == other {
		t.Errorf("the driver itself makes no difference: %s", want)
	}
	for _, c := range []struct{ steps, want string }{{during, other}, {plain, want}, {during, other}, {plain, want}} {
		if got, r := u.run(u.env, c.steps); got != c.want {
			t.Errorf("%s: it says %q, want %q\n%s", c.steps, got, c.want, r.Report)
		}
	}
}

// A layer between ours and the driver, which appends options, is none that the cache knows
// of: what it makes is neither served nor kept. Before ours, its options are in the key.
func TestLayerBetween(t *testing.T) {
	t.Parallel()
	const steps = "e y"
	for _, d := range stage.Drivers {
		t.Run(d.Name, func(t *testing.T) {
			t.Parallel()
			if d.Name != "pocl" {
				timing.Long(t)
			}
			u := newOrdered(t, d)
			u.write("y.cl", "#ifndef X\n#define X 1\n#endif\nkernel void k(global int *p) { *p = X; }\n")
			stage.Interposers(t)
			other, ours := stage.Program(t, "appends.so"), stage.Built(stage.Shim)
			between, before := "OPENCL_LAYERS="+other+":"+ours, "OPENCL_LAYERS="+ours+":"+other
			preloaded := []string{"OPENCL_LAYERS=" + other, "LD_PRELOAD=" + ours, "KERNSTASH_INJECT=preload"}
			said := map[string]string{} // without our layer, by what is before the driver
			cases := []struct {
				env []string
				out bool
			}{
				{nil, false},
				{[]string{"APPENDS=-DX=7", between}, true},
				{nil, false},
				{[]string{"APPENDS=-DX=7", before}, false},
				{[]string{"APPENDS=-DX=8", before}, false},
				{append([]string{"APPENDS=-DX=9"}, preloaded...), true},
				{nil, false},
			}
			makes := 4 // different kernels
			if d.Name == "pocl" && !timing.IsLong() {
				cases, makes = cases[:4], 2
			}
			for _, c := range cases {
				var layers []string // without ours
				for _, v := range c.env {
					if strings.HasPrefix(v, "OPENCL_LAYERS=") {
						v = "OPENCL_LAYERS=" + other
					}
					if !strings.HasPrefix(v, "LD_PRELOAD=") {
						layers = append(layers, v)
					}
				}
				steps := steps
				if d.Name == "pocl" { // of which a binary is another one each time
					steps = "g y"
				}
				want, ok := said[strings.Join(layers, " ")]
				if !ok {
					want, _ = u.run(append(u.plain, layers...), steps)
					said[strings.Join(layers, " ")] = want
				}
				got, r := u.run(append(u.env, c.env...), steps)
				if got != want {
					t.Errorf("%v: it says %q, want %q\n%s", c.env, got, want, r.Report)
				}
				if out := strings.Contains(r.Report, `"reason":"another layer stands between this one and the driver"`); out != c.out {
					t.Errorf("%v: out %v, want %v:\n%s", c.env, out, c.out, r.Report)
				}
			}
			different := slices.Compact(slices.Sorted(maps.Values(said)))
			if len(different) < makes {
				t.Errorf("the driver makes no difference: %v", said)
			}
		})
	}
}
