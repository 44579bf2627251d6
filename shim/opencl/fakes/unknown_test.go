//go:build linux

package fakes_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kernstash/kernstash/shim/opencl/internal/stage"
)

// A driver that is not known, and one that is left alone, get no call that the application
// did not make: kernels are made, and binaries are asked for, by the application only.
func TestDriversLeftAlone(t *testing.T) {
	t.Parallel()
	for driver, of := range map[string]struct{ calls, reason string }{
		"":         {"all", `"outcome":"passed","reason":"a driver that kernstash does not know"`},
		"oclgrind": {"1", `"outcome":"compiled","reason":"not cacheable: the runtime `}, // it is asked what its devices are
	} {
		t.Run(driver, func(t *testing.T) {
			t.Parallel()
			s := stage.New(t, stage.Fake)
			calls := func(env ...string) (lines []string, r stage.Result) {
				r = s.MustRun(t, append(append(s.WithLibrary(t), "FAKE_CALLS="+of.calls, "FAKE_DRIVER="+driver), env...), "crashes")
				for line := range strings.Lines(r.Err) {
					if strings.HasPrefix(line, "call ") {
						lines = append(lines, line)
					}
				}
				return lines, r
			}
			want, _ := calls("KERNSTASH_INJECT=")
			for range 2 {
				got, r := calls()
				if diff := cmp.Diff(want, got); diff != "" || len(want) == 0 {
					t.Errorf("calls (-without the layer +with it):\n%s", diff)
				}
				if !strings.Contains(r.Report, of.reason) {
					t.Errorf("the report does not say %s:\n%s", of.reason, r.Report)
				}
			}
		})
	}
}
