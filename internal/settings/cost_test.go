package settings

import (
	"runtime"
	"testing"
)

// TestCostOfAName: a variable that looks like a setting and is none costs a program that
// starts under `kernstash run` next to nothing: memory that is touched for the first time
// is most of what starting costs. The test is alone, as it measures the process.
func TestCostOfAName(t *testing.T) {
	const rounds, most = 100, 8 << 10 // bytes
	load := func(env []string) uint64 {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		for range rounds {
			if s, _ := Load(Inputs{Environ: env, Lenient: true}); len(s.Warnings) != len(env) {
				t.Fatalf("%v: %v", env, s.Warnings)
			}
		}
		runtime.ReadMemStats(&after)
		return (after.TotalAlloc - before.TotalAlloc) / rounds
	}
	for _, variable := range []string{"KERNSTASH_TEST_TIMING=1", "KERNSTASH_DISABEL=1", "KERNSTASH_X_Y=1"} {
		base, with := load([]string{}), load([]string{variable})
		if with > base+most {
			t.Errorf("%s: %d bytes, without it %d, at most %d more", variable, with, base, most)
		}
	}
}
