package worker

import (
	"context"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"github.com/kernstash/kernstash/store/disk"
)

// TestStopAtOnce: a worker ends that is asked to as soon as it can be seen. What it keeps
// is kept by the time that who asked hears of the end.
func TestStopAtOnce(t *testing.T) {
	t.Parallel()
	for range 20 {
		dir := filepath.Join(t.TempDir(), "root")
		must(t, os.Mkdir(dir, 0o700))
		s := disk.New(disk.Options{Dir: dir})
		ended := make(chan Status, 1)
		var kept atomic.Int32
		go func() {
			st, err := Run(t.Context(), Options{
				Store: s, Command: []string{"/nonexistent"}, Idle: time.Minute,
				Keep: func(*disk.Store) { time.Sleep(time.Millisecond); kept.Add(1) },
			})
			if err != nil {
				t.Error(err)
			}
			ended <- st
		}()
		for !s.HasWorker() {
			time.Sleep(100 * time.Microsecond)
		}
		ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
		if _, err := Stop(ctx, s); err != nil {
			t.Fatal(err)
		}
		if n := kept.Load(); n != 1 {
			t.Errorf("it kept %d times", n)
		}
		cancel()
		if st := <-ended; st.End != endAsked {
			t.Errorf("it ended: %s", st.End)
		}
	}
}
