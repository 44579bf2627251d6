//go:build !nogpu

package opencl_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/kernstash/kernstash"
	"github.com/kernstash/kernstash/gpu/opencl"
	"github.com/kernstash/kernstash/internal/records"
	"github.com/kernstash/kernstash/internal/timing"
	"github.com/kernstash/kernstash/key"
	"github.com/kernstash/kernstash/stats"
	"github.com/kernstash/kernstash/store/disk"
)

func init() { children["cached"] = cachedChild }

// openCached returns a cached context on PoCL and a queue, over a root; done
// ends all of them.
func openCached(root string, d *opencl.Device) (cache *kernstash.Cache, c *opencl.Cached, q *opencl.Queue, done func() error, err error) {
	if cache, err = kernstash.Open(kernstash.Options{Dir: root, CloseTimeout: 3 * time.Minute}); err != nil {
		return nil, nil, nil, nil, err
	}
	if c, err = opencl.NewContext(cache, d); err != nil {
		return nil, nil, nil, nil, err
	}
	if q, err = c.NewQueue(d, opencl.QueueOptions{}); err != nil {
		return nil, nil, nil, nil, err
	}
	return cache, c, q, func() error {
		return errors.Join(q.Finish(), q.Release(), c.Close(), cache.Close())
	}, nil
}

const (
	rootVariable   = "KERNSTASH_TEST_ROOT"
	deviceVariable = "KERNSTASH_TEST_DEVICE" // a part of its name
)

// cachedChild is an application: it asks for a kernel, launches it, checks the
// result, and writes what the cache counted.
func cachedChild() error {
	ctx := context.Background()
	d, err := deviceNamed("POCL", os.Getenv(deviceVariable))
	if err != nil {
		return err
	}
	cache, c, q, done, err := openCached(os.Getenv(rootVariable), d)
	if err != nil {
		return err
	}
	image, err := kernstash.NewImage(key.OpenCLC, []byte(smoothSource))
	if err != nil {
		return err
	}
	b, err := c.NewBuffer(opencl.ReadWrite, 1024)
	if err != nil {
		return err
	}
	begin := time.Now()
	k, err := c.Kernel(ctx, kernstash.Request{Image: image}, "smooth")
	if err != nil {
		return err
	}
	for range 3 {
		if err := k.Launch(q, []int{256}, []int{64}, b, b, opencl.Local(256)); err != nil {
			return err
		}
	}
	if err := q.Finish(); err != nil {
		return err
	}
	took := time.Since(begin)
	k.Release()
	if err := errors.Join(b.Release(), done()); err != nil {
		return err
	}
	return json.NewEncoder(os.Stdout).Encode(application{took, cache.Stats()})
}

type application struct {
	Took  time.Duration
	Stats stats.Snapshot
}

func TestSecondProcessStartsWarm(t *testing.T) { threeProcesses(t) }

// threeProcesses starts an application with an empty cache, and twice after that.
func threeProcesses(t *testing.T) (cold, warm, again application) {
	t.Helper()
	root := t.TempDir()
	if err := os.Chmod(root, 0o700); err != nil {
		t.Fatal(err)
	}
	run := func() (a application) {
		out := child(t, "cached", rootVariable+"="+root, "POCL_CACHE_DIR="+t.TempDir(), "KERNSTASH_DIR=")
		if err := json.Unmarshal([]byte(out), &a); err != nil {
			t.Fatal(err)
		}
		return a
	}
	cold = run()
	var called []string
	d := disk.New(disk.Options{Dir: root})
	defer d.Close()
	err := d.TakeRecords(t.Context(), func(_ string, b []byte) error {
		records.Parse(b, func(l records.Line) { called = append(called, l.Label) })
		return nil
	})
	if want := []string{"smooth, clear"}; err != nil || !slices.Equal(called, want) {
		t.Errorf("first process: recorded %q, %v", called, err)
	}
	if n := cold.Stats.Get(stats.Builds); n != 1 {
		t.Errorf("first process: %d builds", n)
	}
	if n := cold.Stats.Get(stats.Captures); n != 1 {
		t.Errorf("first process: %d captures", n)
	}
	warm, again = run(), run()
	for _, a := range []application{warm, again} {
		if builds, hits := a.Stats.Get(stats.Builds), a.Stats.Get(stats.DiskHits); builds != 0 || hits != 1 {
			t.Errorf("later process: %d builds, %d disk hits", builds, hits)
		}
		if n := a.Stats.Get(stats.Captures); n != 0 {
			t.Errorf("later process: %d captures of what is stored", n)
		}
	}
	return cold, warm, again
}

// A warm start takes a tenth of a cold one, at most.
func TestTimingOfSecondProcess(t *testing.T) {
	timing.Only(t)
	cold, warm, again := threeProcesses(t)
	took := min(warm.Took, again.Took)
	t.Logf("cold %v, warm %v", cold.Took, took)
	if took > cold.Took/10 {
		t.Errorf("warm start takes %v, more than a tenth of %v", took, cold.Took)
	}
}

func TestGoroutinesShareOneBuild(t *testing.T) {
	t.Parallel()
	cache, c, q, done, err := openCached(t.TempDir(), device(t))
	if err != nil {
		t.Fatal(err)
	}
	image, err := kernstash.NewImage(key.OpenCLC, []byte("kernel void count(global int *a) { atomic_inc(a); }"))
	if err != nil {
		t.Fatal(err)
	}
	b, err := c.NewBuffer(opencl.ReadWrite, 4)
	if err != nil {
		t.Fatal(err)
	}
	if err := q.Fill(b, make([]byte, 4), 0, 4); err != nil {
		t.Fatal(err)
	}
	var all sync.WaitGroup
	for range 16 {
		all.Go(func() {
			p, err := c.Program(context.Background(), kernstash.Request{Image: image})
			if err != nil {
				t.Error(err)
				return
			}
			defer p.Release()
			k, err := p.Kernel(context.Background(), "count")
			if err != nil {
				t.Error(err)
				return
			}
			defer k.Release()
			if err := k.Launch(q, []int{4}, []int{2}, b); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	got := make([]int32, 1)
	if err := q.Read(b, 0, opencl.Bytes(got)); err != nil || got[0] != 64 {
		t.Errorf("counted %d, %v", got[0], err)
	}
	if n := cache.Stats().Get(stats.Builds); n != 1 {
		t.Errorf("%d builds for 16 goroutines", n)
	}
	if err := errors.Join(b.Release(), done()); err != nil {
		t.Error(err)
	}
	if _, err := c.Program(context.Background(), kernstash.Request{Image: image}); !errors.Is(err, kernstash.ErrClosed) {
		t.Errorf("after Close: %v", err)
	}
}

func TestPreloadAndFailedBuildsThroughTheCache(t *testing.T) {
	t.Parallel()
	_, c, _, done, err := openCached(t.TempDir(), device(t))
	if err != nil {
		t.Fatal(err)
	}
	var requests []kernstash.Request
	for i := range 4 {
		image, err := kernstash.NewImage(key.OpenCLC, fmt.Appendf(nil, "kernel void k(global int *a) { a[0] = %d; }", i))
		if err != nil {
			t.Fatal(err)
		}
		requests = append(requests, kernstash.Request{Image: image})
	}
	if err := c.Preload(t.Context(), requests...); err != nil {
		t.Fatal(err)
	}
	if programs, _ := c.Core().Len(); programs != 4 {
		t.Errorf("%d programs in memory", programs)
	}
	broken, err := kernstash.NewImage(key.OpenCLC, []byte("kernel void broken() { undeclared(); }"))
	if err != nil {
		t.Fatal(err)
	}
	var logs []string
	for range 2 {
		_, err := c.Program(t.Context(), kernstash.Request{Image: broken})
		var e *kernstash.BuildError
		if !errors.As(err, &e) {
			t.Fatalf("err = %v, want a BuildError", err)
		}
		logs = append(logs, fmt.Sprint(e.Code, e.Log))
	}
	if logs[0] != logs[1] {
		t.Errorf("two diagnostics of one program:\n%s\n%s", logs[0], logs[1])
	}
	if err := done(); err != nil {
		t.Error(err)
	}
}
