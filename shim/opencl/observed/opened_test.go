//go:build linux

package observed_test

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kernstash/kernstash/internal/timing"
	"github.com/kernstash/kernstash/shim/opencl/internal/stage"
)

// Applications that open an OpenCL library by themselves, and look its functions up, where
// the library knows no layers: as CUDA's loader, or a driver without one.

// All that can be observed is the same, by whichever way a program reaches its library,
// and one front end is open, if any.
func TestOpened(t *testing.T) {
	t.Parallel()
	old := stage.Interposers(t)
	const soname, layer, preload = "libOpenCL.so.1", "opencl-layer", "opencl-preload"
	path := filepath.Join(old, soname)
	s := stage.New(t, stage.PoCL)
	parts := "rebuild,lifetimes"
	first := []string{"LD_LIBRARY_PATH=" + old} // the loader that knows no layers is found by its name
	want := stage.Normal(s.MustRun(t, nil, "observe", parts).Out)
	for _, c := range []struct {
		name, program string
		env           []string
		frontEnd      string // which `kernstash run` would choose
		served        string // by which; "" for none
		short         bool   // in the short form, too
	}{
		{"linked", "observe", first, "preload", preload, true},
		{"by its name", "observe-opened", append(stage.Opened(soname, "local"), first...), "preload", preload, true},
		{"for all", "observe-opened", append(stage.Opened(soname, "global"), first...), "preload", preload, false},
		{"by a wrapper", "observe-opened", append(stage.Opened(soname, "wrapped"), first...), "preload", preload, true},
		{"by its path", "observe-opened", stage.Opened(path, "local"), "preload", preload, false},
		{"by its path, another one found", "observe-opened", stage.Opened(path, "local"), "layer", preload, true},
		{"by its path, for all, another one found", "observe-opened", stage.Opened(path, "global"), "layer", preload, false},
		{"linked and by its name", "observe-both", append(stage.Opened(soname, "local"), first...), "preload", preload, false},
		{"linked and by its name, not preloaded", "observe-both", append(stage.Opened(soname, "local"), first...), "layer", "", true},
		{"one that knows layers", "observe-opened", stage.Opened(soname, "local"), "layer", layer, true},
		{"one that knows layers, for all", "observe-opened", stage.Opened(soname, "global"), "layer", layer, false},
		{"one that knows layers, linked", "observe", nil, "layer", layer, false},
		{"both: linked, no layers", "observe", first, "auto", preload, true},
		{"both: linked, layers", "observe", nil, "auto", layer, true},
		{"both: by its name, no layers", "observe-opened", append(stage.Opened(soname, "local"), first...), "auto", preload, false},
		{"both: by its name, layers", "observe-opened", stage.Opened(soname, "local"), "auto", layer, false},
		{"both: by its path, another one found", "observe-opened", stage.Opened(path, "local"), "auto", preload, false},
		{"both: linked and by its name, no layers", "observe-both", append(stage.Opened(soname, "local"), first...), "auto", preload, false},
		{"both: linked and by its name, layers", "observe-both", stage.Opened(soname, "local"), "auto", layer, false},
		{"by version", "observe-opened", append(stage.Opened(soname, "version"), first...), "preload", "", true},
		{"in a namespace", "observe-opened", append(stage.Opened(soname, "space"), first...), "preload", "", true},
	} {
		if !c.short && !timing.IsLong() {
			continue
		}
		r := s.MustRun(t, append(stage.Preloaded(t, c.frontEnd), c.env...), c.program, parts)
		if diff := cmp.Diff(want, stage.Normal(r.Out)); diff != "" {
			t.Errorf("%s:\n%s", c.name, diff)
		}
		for _, frontEnd := range []string{layer, preload} {
			if n := strings.Count(r.Report, `"front_end":"`+frontEnd+`"`); (n == 1) != (c.served == frontEnd) || n > 1 {
				t.Errorf("%s: served by %s %d times:\n%s", c.name, frontEnd, n, r.Report)
			}
		}
		if n := stage.Count(r.Log, "restored"); (n == 0) != (c.served == "") || r.Out == "" {
			t.Errorf("%s: %d restored", c.name, n)
		}
	}
}

// The same with Intel's driver, and what keeps out keeps this front end shut.
func TestOpenedOnIntel(t *testing.T) {
	t.Parallel()
	timing.Long(t)
	old := stage.Interposers(t)
	s := stage.New(t, stage.Intel)
	env := append(stage.Opened(filepath.Join(old, "libOpenCL.so.1"), "local"), stage.Preloaded(t, "layer")...)
	want := stage.Normal(s.MustRun(t, nil, "observe", "rebuild").Out)
	for _, c := range []struct {
		name, variable string
		restored       bool
	}{
		{"cold", "X=", false},
		{"warm", "X=", true},
		{"off", "KERNSTASH_DISABLE=1", false},
		{"no interposer", "LD_PRELOAD=", false},
		{"nothing said", "KERNSTASH_INJECT=", false},
	} {
		r := s.MustRun(t, append(env, c.variable), "observe-opened", "rebuild")
		if diff := cmp.Diff(want, stage.Normal(r.Out)); diff != "" {
			t.Errorf("%s:\n%s", c.name, diff)
		}
		if n := stage.Count(r.Log, "restored"); c.restored && n == 0 || c.variable != "X=" && r.Log != "" {
			t.Errorf("%s: %d restored\n%s", c.name, n, r.Log)
		}
	}
}
