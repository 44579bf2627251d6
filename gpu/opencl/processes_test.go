//go:build !nogpu

package opencl_test

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"sync"
	"testing"

	"github.com/kernstash/kernstash/internal/timing"
	"github.com/kernstash/kernstash/stats"
)

// Processes of an application that start together on one cold key: one of them
// compiles, on a driver that makes code at launches too. PoCL's own cache is
// another one for each, so it has no part in this.
func TestProcessesTogetherOneBuild(t *testing.T) {
	for _, n := range []int{4, 16} {
		if n > 4 && !timing.IsLong() {
			break
		}
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			root := filepath.Join(t.TempDir(), "root")
			var mu sync.Mutex
			var builds, hits, waits int64
			var all sync.WaitGroup
			for range n {
				all.Go(func() {
					out := child(t, "cached", rootVariable+"="+root, "POCL_CACHE_DIR="+t.TempDir(), "KERNSTASH_DIR=")
					var a application
					if err := json.Unmarshal([]byte(out), &a); err != nil {
						t.Error(err)
					}
					mu.Lock()
					defer mu.Unlock()
					builds += a.Stats.Get(stats.Builds)
					hits += a.Stats.Get(stats.DiskHits)
					waits += a.Stats.Get(stats.DiskWaits)
				})
			}
			all.Wait()
			if builds != 1 || hits != int64(n-1) {
				t.Errorf("%d processes: %d builds, %d disk hits; want 1 and %d", n, builds, hits, n-1)
			}
			t.Logf("%d processes waited", waits)
		})
	}
}
