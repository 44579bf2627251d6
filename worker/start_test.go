package worker

import (
	"path/filepath"
	"slices"
	"testing"

	"github.com/kernstash/kernstash"
	"github.com/kernstash/kernstash/internal/settings"
	"github.com/kernstash/kernstash/store/disk"
)

// TestStartNamesTheCache: a worker is started for a cache that is there, which --dir says: one that is removed meanwhile is
// not made anew (cmd/kernstash: TestRuntimeScripts/worker).
func TestStartNamesTheCache(t *testing.T) {
	t.Parallel()
	root := filepath.Join(t.TempDir(), "root")
	d := disk.New(disk.Options{Dir: root})
	t.Cleanup(func() { d.Close() })
	var got []string
	s := NewStarter(StartOptions{
		Jobs: kernstash.Jobs{Store: d, Policy: settings.WorkerAuto}, Command: "/bin/kernstash",
		Spawn: func(_ string, argv, _ []string) error { got = argv; return nil },
	})
	if err := s.StartNow(); err != nil {
		t.Fatal(err)
	}
	if at := slices.Index(got, "--dir"); at < 0 || at+1 >= len(got) || got[at+1] != root {
		t.Errorf("%q does not name %s", got, root)
	}
}
