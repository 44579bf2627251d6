package kernstash

import (
	"net"
	"path/filepath"
	"slices"
	"testing"

	"github.com/kernstash/kernstash/spool"
	"github.com/kernstash/kernstash/store/disk"
)

// TestUploadJobs: where the setting remote says that there is one, a worker hears of what was built
// and stored, and of nothing else. Elsewhere there is no job, and no worker.
func TestUploadJobs(t *testing.T) {
	t.Parallel()
	socket := filepath.Join(t.TempDir(), "s")
	l, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	for _, tt := range []struct {
		name, remote, mode, agent string
		want                      int
	}{
		{"a remote that nobody asks from here", "redis://u:p@192.0.2.1:1", "on", "off", 1},
		{"no remote", "", "on", "off", 0},
		{"nothing is written", "redis://u:p@192.0.2.1:1", "read-only", "off", 0},
		{"an agent does it", "redis://u:p@192.0.2.1:1", "on", socket, 0},
		{"the agent is gone", "redis://u:p@192.0.2.1:1", "on", socket + ".none", 1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			root := newRoot(t)
			var s fakeStarter
			var at []Jobs
			for range 2 { // the second process finds it stored
				c := openCache(t, root, func(o *Options) {
					o.Starter = func(j Jobs) Starter { at = append(at, j); return &s }
					o.Flags = map[string]string{"remote": tt.remote, "mode": tt.mode, "agent": tt.agent}
				})
				use(t, fakeContextOn(c, newFake(t)), Request{Image: image(t, src(1))})
				if err := c.Close(); err != nil {
					t.Fatal(err)
				}
			}
			d := disk.New(disk.Options{Dir: root})
			defer d.Close()
			jobs, err := spool.List(t.Context(), d)
			if err != nil || len(jobs) != tt.want || s.starts != tt.want || s.closes != tt.want {
				t.Fatalf("%d jobs, %+v, %v; want %d", len(jobs), s, err, tt.want)
			}
			if tt.want == 0 {
				return
			}
			j, err := spool.Read(t.Context(), d, &jobs[0])
			if err != nil || j.Kind != spool.Upload || len(j.Environment.Variables) > 0 || j.Environment.Dir != "" {
				t.Errorf("%+v, %v", j, err)
			}
			if _, err := d.Get(t.Context(), j.Key()); err != nil {
				t.Error(err)
			}
			if !slices.Contains(at[0].Settings, "KERNSTASH_REMOTE="+tt.remote) {
				t.Errorf("the worker is not told the remote: %s", at[0].Settings)
			}
		})
	}
}
