package kernstash

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// TestWorkerShares: a worker has the limits that the program asked for, and not its
// own, unless the operator said otherwise.
func TestWorkerShares(t *testing.T) {
	o := Options{Dir: t.TempDir(), MaxSize: 3 << 20, Eviction: "lru", CloseTimeout: time.Second}
	ask := func() []string {
		t.Helper()
		c, err := Open(o)
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		return c.cache().Jobs().Settings
	}
	if diff := cmp.Diff([]string{"KERNSTASH_MAX_SIZE=3MiB", "KERNSTASH_THRESHOLD=30", "KERNSTASH_EVICTION=lru", "KERNSTASH_RECORDS=1", "KERNSTASH_FRAMEWORKS_MAX_SIZE=5GiB", "KERNSTASH_AGENT=auto", "KERNSTASH_AGENT_UID="}, ask()); diff != "" {
		t.Error(diff)
	}
	t.Setenv("KERNSTASH_MAX_SIZE", "1GiB")
	o.Mode = "read-only"
	if shared := ask(); shared != nil {
		t.Errorf("nobody works on a cache that is only read: %v", shared)
	}
	o.Mode = ""
	if diff := cmp.Diff("KERNSTASH_MAX_SIZE=1GiB", ask()[0]); diff != "" {
		t.Error(diff)
	}
}
