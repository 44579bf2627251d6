//go:build linux && !nogpu

package build_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/kernstash/kernstash/spool"
	"github.com/kernstash/kernstash/stats"
	"github.com/kernstash/kernstash/store/disk"
	"github.com/kernstash/kernstash/worker"
)

// TestRemovedCache: a worker whose cache is removed, and made anew by another process,
// in the middle of a build ends, and nothing of what it was about reaches the new one:
// a build that failed because its files went is no reason to refuse the program there.
func TestRemovedCache(t *testing.T) {
	t.Parallel()
	for _, role := range []string{"late builder", "hang"} {
		t.Run(role, func(t *testing.T) {
			t.Parallel()
			s := newRoot(t)
			j := handMade(t, small, smallVariant)
			add(t, s, j)
			o := options(t, s, role)
			o.Limit = 3 * time.Minute
			o.Keep = func(held *disk.Store) {
				if held.AddStats(stats.Snapshot{1}) == nil {
					t.Error("it kept its counts")
				}
			}
			building := make(chan struct{}, 10)
			o.Progress = func(st worker.Status) {
				if st.Building != "" {
					building <- struct{}{}
				}
			}
			ended := make(chan worker.Status, 1)
			go func() {
				st, _ := worker.Run(bg, o)
				ended <- st
			}()
			<-building
			for os.RemoveAll(s.Dir()) != nil { // the worker writes there
				time.Sleep(time.Millisecond)
			}
			// Another process makes it anew, and has a worker there, with a builder.
			anew := open(t, s.Dir())
			unlock, err := anew.LockWorker(bg)
			must(t, err)
			defer unlock()
			work, err := anew.WorkDir(bg)
			must(t, err)
			others := filepath.Join(work, "others")
			must(t, os.Mkdir(others, 0o700))
			st := <-ended
			// Where it notices first the reason is worded otherwise.
			if !strings.Contains(st.End, "was removed") || st.Refused+st.Done != 0 {
				t.Errorf("%+v", st)
			}
			if _, err := os.Stat(others); err != nil {
				t.Errorf("the directory of another worker's builder: %v", err)
			}
			if _, _, err := anew.ReadNote(disk.WorkerNote); err == nil {
				t.Error("it told of itself in the new one")
			}
			if total, err := anew.Stats(); err != nil || total != (stats.Snapshot{}) {
				t.Errorf("counted in the new one: %v, %v", total, err)
			}
			if res, err := spool.Add(bg, anew, j, nil); err != nil || res != spool.Added {
				t.Errorf("the same job in the new one: %v, %v", res, err)
			}
		})
	}
}
