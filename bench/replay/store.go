package main

import (
	"context"
	"fmt"
	"os"
	"time"

	"github.com/kernstash/kernstash/key"
	"github.com/kernstash/kernstash/stats"
	"github.com/kernstash/kernstash/store"
	"github.com/kernstash/kernstash/store/disk"
)

// replayer replays a trace against a real store/disk, with a clock that follows
// the trace. An entry has exactly the bytes that the trace says, recipe
// included.
type replayer struct {
	dir      string
	policy   disk.Policy
	limit    int64
	overhead int64 // of an entry beside its code
	now      time.Time
	counts   stats.Counters
	store    *disk.Store
	process  string
}

// began is when replayed traces begin.
var began = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

// settleTime bounds the wait for an evictor.
const settleTime = 10 * time.Second

func replay(ctx context.Context, trace []request, p disk.Policy, limit int64) (out outcome, err error) {
	dir, err := os.MkdirTemp(fastDir(), "kernstash-replay")
	if err != nil {
		return out, err
	}
	defer os.RemoveAll(dir)
	r := &replayer{dir: dir, policy: p, limit: limit, now: began}
	if err := r.calibrate(ctx); err != nil {
		return out, err
	}
	r.open()
	defer func() { _ = r.store.Close() }()
	for i, q := range trace {
		hit, err := r.request(ctx, q)
		if err != nil {
			return out, fmt.Errorf("request %d: %w", i+1, err)
		}
		if hit {
			out.Hits++
			out.HitBytes += q.bytes
			out.Saved += q.cost
		}
	}
	out.Evicted = int(r.counts.Snapshot().Get(stats.DiskEvictions))
	return out, nil
}

// fastDir is a directory in memory, where there is one.
func fastDir() string {
	if info, err := os.Stat("/dev/shm"); err == nil && info.IsDir() {
		return "/dev/shm"
	}
	return ""
}

func (r *replayer) open() {
	if r.store != nil {
		_ = r.store.Close()
	}
	r.store = disk.New(disk.Options{
		Dir: r.dir, MaxSize: r.limit, Policy: r.policy, Recorder: &r.counts, Now: func() time.Time { return r.now },
	})
}

// entry makes an entry. The recipe has the same length for all.
func (r *replayer) entry(name string, code int64, cost time.Duration) (*store.Entry, error) {
	source := fmt.Sprintf("%-40.40s", name)
	img, err := key.NewImage(key.Opaque, []byte(source))
	if err != nil {
		return nil, err
	}
	recipe := &key.Recipe{Device: key.Device{API: "replay", Name: "none"}, Image: img}
	data := make([]byte, max(code, 1))
	copy(data, source)
	return &store.Entry{Key: recipe.Key(), Recipe: recipe, Artifact: &store.Artifact{
		Binaries: []store.Binary{{Form: store.FormFinal, Data: data}}, Cost: cost, Created: r.now,
	}}, nil
}

// calibrate finds out what an entry takes beside its code.
func (r *replayer) calibrate(ctx context.Context) error {
	const code = 1000
	d := disk.New(disk.Options{Dir: r.dir + "/calibrate", Now: func() time.Time { return r.now }})
	defer os.RemoveAll(r.dir + "/calibrate")
	e, err := r.entry("calibrate", code, time.Second)
	if err != nil {
		return err
	}
	if _, err := d.Put(ctx, e); err != nil {
		return err
	}
	r.overhead = d.Status().Bytes - code
	return d.Close()
}

func (r *replayer) request(ctx context.Context, q request) (hit bool, err error) {
	r.now = began.Add(q.at)
	if q.process != r.process {
		r.process = q.process
		r.open()
	}
	if q.bytes <= r.overhead {
		return false, fmt.Errorf("%d bytes: an entry takes %d beside its code", q.bytes, r.overhead)
	}
	e, err := r.entry(q.key, q.bytes-r.overhead, q.cost)
	if err != nil {
		return false, err
	}
	if _, err := r.store.Get(ctx, e.Key); err == nil {
		return true, nil
	}
	if q.bytes > r.limit {
		return false, nil // it would not be stored
	}
	if _, err := r.store.Put(ctx, e); err != nil {
		return false, err
	}
	return false, r.settle()
}

// settle waits for the evictor, if a put woke it.
func (r *replayer) settle() error {
	st := r.store.Status()
	if st.Counted && st.Bytes <= r.limit {
		return nil
	}
	goal := r.limit
	if st.Bytes > r.limit {
		goal = r.limit / 3 * 2
	}
	for deadline := time.Now().Add(settleTime); time.Now().Before(deadline); time.Sleep(50 * time.Microsecond) {
		if st := r.store.Status(); st.Counted && st.Bytes <= goal {
			// It has freed enough; let it end, or it would not be woken again.
			time.Sleep(time.Millisecond)
			return nil
		}
	}
	return fmt.Errorf("the evictor did not get from %d to %d bytes within %v", st.Bytes, goal, settleTime)
}
