//go:build linux

package fakes_test

import (
	"path/filepath"
	"testing"

	"github.com/kernstash/kernstash/shim/opencl/internal/stage"
)

// NVIDIA's driver opens its compiler at a process's first program in any case: it is opened
// in another thread while the library starts, once, and nowhere else. In the long form
// sanitizers look at where it is.
func TestNVIDIAsCompilerIsOpenedMeanwhile(t *testing.T) {
	t.Parallel()
	const opened = "compiler: opened by another thread, signals held\n"
	for _, sanitizer := range stage.Sanitizers() {
		folder := filepath.Dir(stage.Program(t, filepath.Join(sanitizer, "libnvidia-nvvm.so.4")))
		for _, c := range []struct {
			name, program string
			env           []string
			want          string
		}{
			{"nvidia's", "stress-nvidia", []string{"FAKE_DRIVER=nvidia"}, opened},
			{"another platform", "stress-nvidia", nil, ""},
			{"another library", "stress", []string{"FAKE_DRIVER=nvidia"}, ""},
			{"a driver that looks elsewhere", "stress-nvidia-own", []string{"FAKE_DRIVER=nvidia"}, ""},
			{"no compiler there", "stress-nvidia", []string{"FAKE_DRIVER=nvidia", "LD_LIBRARY_PATH="}, ""},
			{"disabled", "stress-nvidia", []string{"FAKE_DRIVER=nvidia", "KERNSTASH_DISABLE=1"}, ""},
			{"no library", "stress-nvidia", []string{"FAKE_DRIVER=nvidia", "KERNSTASH_LIBRARY=/nonexistent/libkernstash.so.1"}, ""},
		} {
			if sanitizer != "." && c.want == "" {
				continue
			}
			t.Run(filepath.Join(sanitizer, c.name), func(t *testing.T) {
				t.Parallel()
				s := stage.New(t, stage.Fake)
				program := stage.Program(t, filepath.Join(sanitizer, c.program))
				r := s.MustRun(t, append([]string{"LD_LIBRARY_PATH=" + folder}, c.env...), program, "first", "loop", "threads")
				if r.Err != c.want {
					t.Errorf("%q, want %q", r.Err, c.want)
				}
			})
		}
	}
}
