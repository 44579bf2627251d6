package jobs

import (
	"context"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kernstash/kernstash/key"
	"github.com/kernstash/kernstash/spool"
	"github.com/kernstash/kernstash/store/disk"
)

// TestKernels: the kernels of a job are those of its launches, each once; another job has none.
func TestKernels(t *testing.T) {
	t.Parallel()
	d := disk.New(disk.Options{Dir: filepath.Join(t.TempDir(), "root")})
	t.Cleanup(func() { d.Close() })
	image, err := key.NewImage(key.OpenCLC, []byte("kernel void a() {} kernel void b() {}"))
	if err != nil {
		t.Fatal(err)
	}
	r := &key.Recipe{Device: key.Device{API: "opencl", Platform: "P", Name: "D", Version: "3.0", Driver: "1"}, Image: image}
	j := spool.Job{
		Kind: spool.Capture, Recipe: r, Environment: spool.Take(nil, r, ""),
		Variants: []string{"b/64-1-1-goffs0-smallgrid", "a/8-1-1-goffs0-smallgrid", "a/64-1-1-goffs0-smallgrid"},
	}
	if res, err := spool.Add(context.Background(), d, j, nil); err != nil || res != spool.Added {
		t.Fatal(res, err)
	}
	if diff := cmp.Diff([]string{"a", "b"}, Kernels(context.Background(), d, j.Name())); diff != "" {
		t.Error(diff)
	}
	if got := Kernels(context.Background(), d, "other.capture"); got != nil {
		t.Error(got)
	}
}
