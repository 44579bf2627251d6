//go:build linux

package preload_test

import (
	"testing"

	"github.com/kernstash/kernstash/internal/timing"
)

// Children that look functions up do not wait for threads which they do not have.
func TestForkWhileLookingUp(t *testing.T) {
	timing.Long(t)
	t.Parallel()
	s := newStage(t)
	got := s.mustRun(true, nil, s.program("fork_lookup"), nvrtc, "2000")
	if want := "status of the last child: 0\n"; got.out != want {
		t.Errorf("%q, want %q", got.out, want)
	}
}

func TestForkWhileLookingUpFirst(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	host := s.program("fork_first")
	for _, args := range [][]string{
		{"libze_loader.so.1", "zeModuleCreate", "zeModuleDestroy", "600"},
		{nvrtc, "nvrtcCreateProgram", "nvrtcGetPTX", "300"},
	} {
		if got := s.run(true, nil, host, args...); got.out != "none hung\n" {
			t.Errorf("%s: %q", args[0], got.out)
		}
	}
}
