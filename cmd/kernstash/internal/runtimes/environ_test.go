package runtimes

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestEnviron(t *testing.T) {
	t.Parallel()
	got := Environ([]string{
		"PATH=/bin", "KERNSTASH_DIR=/d", "KERNSTASH_TRACE=all", "POCL_CACHE_DIR=/p", "POCL_KERNEL_CACHE=0",
	}, "/fresh")
	want := []string{
		"PATH=/bin", "KERNSTASH_TRACE=all",
		"POCL_CACHE_DIR=/fresh", "MESA_SHADER_CACHE_DIR=/fresh", "CUDA_CACHE_PATH=/fresh", "NEO_CACHE_DIR=/fresh",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
