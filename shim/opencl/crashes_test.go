//go:build linux

package opencl_layer_test

import (
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// crashes builds testdata/crashes.c against the shim and the fake driver.
var crashes = sync.OnceValues(func() (string, error) {
	to := filepath.Join(built, "crashes")
	return to, program("crashes", to, filepath.Join(built, shim), filepath.Join(built, "libfakecl.so"), "-Wl,-rpath,"+built)
})

// A compiler that recovers from its own crashes, where nobody else handles these, does
// so with the library, whose runtime handles them: in builds that call back, from
// another thread too, in one within another, and in compilations and links.
func TestCompilerThatCrashes(t *testing.T) {
	t.Parallel()
	to, err := crashes()
	if err != nil {
		t.Fatal(err)
	}
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
			s := newStage(t, fake)
			env := append(s.realLibrary(t), "FAKE_DRIVER="+c.driver)
			plain := s.mustRun(t, append(env, "KERNSTASH_OPENCL_DOOR="), to, c.handler)
			if strings.Count(plain.out, c.compilations) != 11 || strings.Contains(plain.out, c.said) || !strings.Contains(plain.err, c.without+" handles") {
				t.Fatalf("without the layer:\n%s%s", plain.out, plain.err)
			}
			cold := s.mustRun(t, env, to, c.handler)
			if diff := cmp.Diff(plain.out, cold.out); diff != "" || !strings.Contains(cold.err, c.with+" handles") {
				t.Errorf("cold:\n%s%s", diff, cold.err)
			}
		})
	}
}
