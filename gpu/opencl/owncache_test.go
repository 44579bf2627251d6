//go:build !nogpu

package opencl_test

import (
	"encoding/json"
	"path/filepath"
	"sync"
	"testing"

	"github.com/kernstash/kernstash/internal/timing"
	"github.com/kernstash/kernstash/reason"
	"github.com/kernstash/kernstash/stats"
)

// Processes that restore one program at the same time without PoCL's own cache do not
// take its files from one another.
func TestProcessesTogetherWithoutPoCLsCache(t *testing.T) {
	timing.Long(t)
	dir := t.TempDir()
	start := func() (a application) {
		out := child(t, "cached", rootVariable+"="+filepath.Join(dir, "root"), "POCL_CACHE_DIR="+filepath.Join(dir, "pocl"), "POCL_KERNEL_CACHE=0", "KERNSTASH_DIR=")
		if err := json.Unmarshal([]byte(out), &a); err != nil {
			t.Error(err)
		}
		return a
	}
	if a := start(); a.Stats.Get(stats.Builds) != 1 {
		t.Fatalf("the first: %v", a.Stats)
	}
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			for range 5 {
				if a := start(); a.Stats.Get(stats.DiskHits) != 1 || a.Stats.Get(stats.Builds) != 0 {
					t.Errorf("%v", a.Stats)
				}
			}
		})
	}
	all.Wait()
}

// Where nobody knows whether PoCL's cache is on, nothing is cached.
func TestPoCLsCacheUnknown(t *testing.T) {
	var a application
	out := child(t, "cached", rootVariable+"="+t.TempDir(), "POCL_CACHE_DIR="+t.TempDir(), "POCL_KERNEL_CACHE=off", "KERNSTASH_DIR=")
	if err := json.Unmarshal([]byte(out), &a); err != nil {
		t.Fatal(err)
	}
	if a.Stats.Get(stats.Of(reason.NotCacheableRuntime)) != 1 || a.Stats.Get(stats.DiskMisses) != 0 {
		t.Errorf("%v", a.Stats)
	}
}
