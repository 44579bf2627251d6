//go:build linux

package fakes_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kernstash/kernstash/shim/opencl/internal/stage"
)

// A compiler that recovers from its own crashes, where nobody else handles these, does
// so with the library, whose runtime handles them: in builds that call back, from
// another thread too, in one within another, and in compilations and links.
func TestCompilerThatCrashes(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		driver, handler    string
		compilations, said string
		without, with      string // who handles crashes at the end
	}{
		{"crashes", "", "recovered", "somebody handles", "nobody", "somebody"},
		{"crashes-async", "", "recovered", "somebody handles", "nobody", "somebody"},
		{"crashes", "own", "somebody handles", "recovered", "the application", "somebody"}, // who calls the application's
	} {
		t.Run(c.driver+" "+c.handler, func(t *testing.T) {
			t.Parallel()
			s := stage.New(t, stage.Fake)
			env := append(s.WithLibrary(t), "FAKE_DRIVER="+c.driver)
			plain := s.MustRun(t, append(env, "KERNSTASH_INJECT="), "crashes", c.handler)
			if strings.Count(plain.Out, c.compilations) != 11 || strings.Contains(plain.Out, c.said) || !strings.Contains(plain.Err, c.without+" handles") {
				t.Fatalf("without the layer:\n%s%s", plain.Out, plain.Err)
			}
			cold := s.MustRun(t, env, "crashes", c.handler)
			if diff := cmp.Diff(plain.Out, cold.Out); diff != "" || !strings.Contains(cold.Err, c.with+" handles") {
				t.Errorf("cold:\n%s%s", diff, cold.Err)
			}
		})
	}
}
