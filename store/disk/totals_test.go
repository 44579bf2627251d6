package disk

import (
	"os/exec"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/kernstash/kernstash/stats"
)

func oneHit() (s stats.Snapshot) {
	s[stats.DiskHits], s[stats.SavedTime] = 1, 1000
	return s
}

// TestTotalsOverProcesses: nothing that was added is lost, without one lock
// for all.
func TestTotalsOverProcesses(t *testing.T) {
	t.Parallel()
	s := open(t)
	if got, err := s.Stats(); err != nil || got != (stats.Snapshot{}) {
		t.Errorf("no root: %v, %v", got, err)
	}
	must(t, s.ResetStats())
	if exists(s.o.Dir) {
		t.Error("reading statistics made the root")
	}
	var children []*exec.Cmd
	for i := range 6 {
		children = append(children, child(t, "stats", s.o.Dir, i))
	}
	runAll(t, children)
	var want stats.Snapshot
	want[stats.DiskHits], want[stats.SavedTime] = 300, 300_000
	got, err := s.Stats()
	must(t, err)
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("totals (-want +got):\n%s", d)
	}
	must(t, s.ResetStats())
	if got, err := s.Stats(); err != nil || got != (stats.Snapshot{}) {
		t.Errorf("after reset: %v, %v", got, err)
	}
	must(t, s.AddStats(oneHit()))
	if got, err := s.Stats(); err != nil || got != oneHit() {
		t.Errorf("after reset and one: %v, %v", got, err)
	}
}
