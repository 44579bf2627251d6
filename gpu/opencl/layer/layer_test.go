//go:build !nogpu

package layer_test

import (
	"bytes"
	"path/filepath"
	"testing"
	"time"

	"github.com/kernstash/kernstash/gpu/opencl/layer"
	"github.com/kernstash/kernstash/internal/front"
	"github.com/kernstash/kernstash/spool"
	"github.com/kernstash/kernstash/stats"
	"github.com/kernstash/kernstash/store/disk"
)

// counted waits until a counter has a value: much is done behind the
// application's back.
func counted(t testing.TB, l *layer.Layer, c stats.Counter, want int64) {
	t.Helper()
	for begin := time.Now(); l.Cache.Stats()[c] < want; time.Sleep(time.Millisecond) {
		if time.Since(begin) > 3*time.Minute {
			t.Fatalf("%v is %d, want %d", c, l.Cache.Stats()[c], want)
		}
	}
}

// What was built once is restored from then on, byte for byte.
func TestSecondBuildIsRestored(t *testing.T) {
	t.Parallel()
	h := newHost(t, openLayer(t, filepath.Join(t.TempDir(), "root")), device(t, "INTEL"))
	cold := h.build(source(1), &none)
	if cold.String() != "built" || cold.err != nil {
		t.Fatalf("cold: %v, %v, %s", cold, cold.err, cold.reason)
	}
	counted(t, h.l, stats.DiskPuts, 1)
	h.l.Settle()
	warm := h.build(source(1), &none)
	if warm.String() != "restored" {
		t.Fatalf("warm: %v, %s", warm, warm.reason)
	}
	if !bytes.Equal(cold.binaries[0], warm.binaries[0]) || len(cold.binaries[0]) == 0 {
		t.Errorf("%d bytes were built, %d restored, and they differ", len(cold.binaries[0]), len(warm.binaries[0]))
	}
	if k := warm.served.Artifacts[0].Kernels; len(k) != 1 || k[0].Name != "put1" {
		t.Errorf("kernels %v", k)
	}
	counted(t, h.l, stats.DiskHits, 1)
	s := h.l.Cache.Stats()
	if s[stats.DiskHits] != 1 || s[stats.DiskMisses] != 1 || s[stats.Builds] != 1 || s[stats.DiskPuts] != 1 {
		t.Errorf("hits %d, misses %d, builds %d, puts %d; want 1 each",
			s[stats.DiskHits], s[stats.DiskMisses], s[stats.Builds], s[stats.DiskPuts])
	}
}

// What took long to build is stored by the time that the application goes on: it
// may end at once.
func TestBuildIsStoredAtOnce(t *testing.T) {
	t.Parallel()
	root := filepath.Join(t.TempDir(), "root")
	l := openLayer(t, root)
	h := newHost(t, l, device(t, "INTEL"))
	ticket, _ := begun(t, h, h.request(source(1), &none))
	begin := time.Now()
	ticket.Next([]layer.Outcome{{Result: front.Built, Took: 10 * time.Second, Artifact: layer.Artifact{Binary: []byte("code")}}})
	took := time.Since(begin)
	if n := len(entryFiles(t, root)); n != 1 {
		t.Errorf("%d entries after %v", n, took)
	}
	ticket.End()
}

// spooled returns the jobs that were left for the worker, which must be so many.
func spooled(t *testing.T, l *layer.Layer, root string, want int) []*spool.Job {
	t.Helper()
	l.Settle()
	s := disk.New(disk.Options{Dir: root, ReadOnly: true})
	defer s.Close()
	entries, err := spool.List(t.Context(), s)
	if err != nil {
		t.Fatal(err)
	}
	var jobs []*spool.Job
	for i := range entries {
		j, err := spool.Read(t.Context(), s, &entries[i])
		if err != nil {
			t.Fatal(err)
		}
		jobs = append(jobs, j)
	}
	if len(jobs) != want {
		t.Fatalf("%d jobs, want %d", len(jobs), want)
	}
	return jobs
}
