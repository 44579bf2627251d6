//go:build linux && amd64

package preload_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// NVRTC from 12.4 on takes --restrict for given in all later compiles of a process: what it makes then without the option
// is not kept, whoever compiled with it.
func TestRestrictLasts(t *testing.T) {
	t.Parallel()
	library := toolkit(t, "lib64/libnvrtc.so.12")
	for _, tt := range []struct {
		name string
		env  []string
	}{
		{"in another program", nil},
		{"in a program that is compiled again", []string{"COMPILE_FIRST_AGAIN=1"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s := newStage(t)
			program, file := s.program("compile"), filepath.Join(s.dir, "k.cu")
			text := "extern \"C\" __global__ void k(const float *in, float *out) { for (int i = 0; i < 9; i++) out[i] = in[i] + in[i + 1]; }\n"
			if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
			env := []string{"LD_LIBRARY_PATH=" + filepath.Dir(library)}
			args := []string{"nvrtc", library, file, "-arch=compute_80"}
			want := s.mustRun(false, env, program, args...).out
			first := append([]string{"COMPILE_FIRST=--restrict"}, append(tt.env, env...)...)
			if plain := s.mustRun(false, first, program, args...).out; plain == want {
				t.Error("it does not last here")
			}
			s.mustRun(true, first, program, args...)
			for i, report := range []map[string]int{{"compiled": 1}, {"disk": 1}} {
				got := s.mustRun(true, env, program, args...)
				if d := cmp.Diff(want, got.out); d != "" {
					t.Errorf("process %d (-without +with the cache):\n%s", i, d)
				}
				if d := cmp.Diff(report, got.report); d != "" {
					t.Errorf("process %d (-want +got):\n%s", i, d)
				}
			}
		})
	}
}
