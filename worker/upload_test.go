package worker

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kernstash/kernstash/key"
	"github.com/kernstash/kernstash/spool"
	"github.com/kernstash/kernstash/store/disk"
)

// remotes stands for some that answer as it says.
type remotes struct {
	mu    sync.Mutex
	asked []string
	of    func(key.Key) spool.JobState
}

func (r *remotes) upload(_ context.Context, k key.Key) spool.Outcome {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.asked = append(r.asked, k.Short())
	return spool.Outcome{State: r.of(k), Reason: "as the test wants"}
}

func TestUploads(t *testing.T) {
	t.Parallel()
	const n = 2*uploadsAtOnce + 3
	odd := func(k key.Key) bool { return k.Sum[0]%2 == 1 }
	tests := []struct {
		name  string
		of    func(key.Key) spool.JobState
		asked int                // 0: once for each
		left  func(key.Key) bool // stays
	}{
		{"stored", func(key.Key) spool.JobState { return spool.JobStored }, n, func(key.Key) bool { return false }},
		{"evicted meanwhile", func(key.Key) spool.JobState { return spool.JobVoid }, n, func(key.Key) bool { return false }},
		{"refused", func(key.Key) spool.JobState { return spool.JobRefused }, n, func(key.Key) bool { return false }},
		{"dead remote", func(key.Key) spool.JobState { return spool.JobElsewhere }, uploadsAtOnce, func(key.Key) bool { return true }},
		{"some cannot be", func(k key.Key) spool.JobState {
			if odd(k) {
				return spool.JobElsewhere
			}
			return spool.JobThere
		}, n, odd},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s := disk.New(disk.Options{Dir: filepath.Join(t.TempDir(), "root")})
			defer s.Close()
			var want []string
			for i := range n {
				img, err := key.NewImage(key.OpenCLC, fmt.Appendf(nil, "kernel void k%d() {}", i))
				must(t, err)
				j := spool.Job{Kind: spool.Upload, Recipe: &key.Recipe{Device: key.Device{API: "fake"}, Image: img}}
				_, err = spool.Add(t.Context(), s, j, nil)
				must(t, err)
				if tt.left(j.Key()) {
					want = append(want, j.Name())
				}
			}
			r := &remotes{of: tt.of}
			// A builder is not needed, and would not start.
			st, err := Run(t.Context(), Options{Store: s, Command: []string{"/nonexistent"}, Once: true, Upload: r.upload})
			if err != nil || len(r.asked) != tt.asked {
				t.Errorf("%v; asked %d times, want %d", err, len(r.asked), tt.asked)
			}
			jobs, err := spool.List(t.Context(), s)
			must(t, err)
			var left []string
			for _, e := range jobs {
				left = append(left, e.Name)
			}
			slices.Sort(want)
			slices.Sort(left)
			if diff := cmp.Diff(want, left); diff != "" || st.Waiting != len(left) {
				t.Errorf("%d wait (-want +got)\n%s", st.Waiting, diff)
			}
		})
	}
}

// TestUploadsWait: a worker without remotes leaves jobs for one that has some.
func TestUploadsWait(t *testing.T) {
	t.Parallel()
	s := disk.New(disk.Options{Dir: filepath.Join(t.TempDir(), "root")})
	defer s.Close()
	img, err := key.NewImage(key.OpenCLC, []byte("kernel void k() {}"))
	must(t, err)
	_, err = spool.Add(t.Context(), s, spool.Job{Kind: spool.Upload, Recipe: &key.Recipe{Device: key.Device{API: "fake"}, Image: img}}, nil)
	must(t, err)
	for range 2 {
		st, err := Run(t.Context(), Options{Store: s, Command: []string{"/nonexistent"}, Idle: time.Millisecond})
		if err != nil || st.Waiting != 1 || st.Refused+st.Kept+st.Done != 0 {
			t.Fatalf("%+v, %v", st, err)
		}
	}
}
