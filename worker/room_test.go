package worker

import (
	"testing"

	"github.com/kernstash/kernstash/internal/cgroup"
)

func TestCrowded(t *testing.T) {
	t.Parallel()
	const MiB = 1 << 20
	for _, tt := range []struct {
		limits cgroup.Limits
		want   string
	}{
		{cgroup.Limits{}, ""},
		{cgroup.Limits{Memory: 512 * MiB, MemoryLeft: 100 * MiB}, ""}, // the compiler is the first to go
		{cgroup.Limits{Memory: 512 * MiB, MemoryLeft: 256 * MiB, OneEnds: true}, ""},
		{
			cgroup.Limits{Memory: 512 * MiB, MemoryLeft: 255 * MiB, OneEnds: true},
			"too little memory: 255 MiB of 512 MiB are left, and all processes of the control group would end together",
		},
	} {
		if got := crowded(tt.limits); got != tt.want {
			t.Errorf("%+v: %q", tt.limits, got)
		}
	}
}
