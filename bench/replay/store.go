package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/kernstash/kernstash/key"
	"github.com/kernstash/kernstash/stats"
	"github.com/kernstash/kernstash/store"
	"github.com/kernstash/kernstash/store/disk"
)

// block is what store/disk counts space in: a file takes whole ones, a directory
// takes one.
const block = 4096

// realistic returns a trace that a store/disk can follow to the byte: in whole
// blocks, each artifact in directories of its own, each request in a process of its own,
// so that the evictor has ended before the next one.
func realistic(trace []request) []request {
	trace = slices.Clone(trace)
	for i := range trace {
		q := &trace[i]
		q.bytes = q.bytes / block * block
		q.key = strings.ReplaceAll(q.key, "/", " ")
		q.process = strconv.Itoa(i)
	}
	return trace
}

// replayer replays a trace against a real store/disk, with a clock that follows
// the trace. An entry takes exactly the bytes that the trace says, recipe and
// directories included.
type replayer struct {
	options disk.Options
	now     time.Time
	counts  stats.Counters
	beside  int64 // what an entry takes beside the blocks of its code
}

// began is when replayed traces begin.
var began = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

// replay needs a realistic trace.
func replay(ctx context.Context, trace []request, p disk.Policy, limit int64) (out outcome, err error) {
	dir, err := os.MkdirTemp(fastDir(), "kernstash-replay")
	if err != nil {
		return out, err
	}
	defer os.RemoveAll(dir)
	r := &replayer{now: began}
	r.options = disk.Options{Dir: filepath.Join(dir, "calibrate"), Policy: p, Now: func() time.Time { return r.now }}
	if err := r.calibrate(ctx); err != nil {
		return out, err
	}
	r.options.Dir, r.options.MaxSize, r.options.Recorder = filepath.Join(dir, "root"), limit, &r.counts
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

// entry makes an entry whose code takes so many blocks. The recipe has the same
// length for all.
func (r *replayer) entry(name string, blocks int64, cost time.Duration) (*store.Entry, error) {
	source := fmt.Sprintf("%-40.40s", imageOf(name))
	img, err := key.NewImage(key.Opaque, []byte(source))
	if err != nil {
		return nil, err
	}
	const header = 1024 // more than that of an entry
	recipe := &key.Recipe{Device: key.Device{API: "replay", Name: "none"}, Image: img}
	if imageOf(name) != name {
		recipe.Options.Compile = []string{name}
	}
	data := make([]byte, blocks*block-header)
	copy(data, name)
	return &store.Entry{Key: recipe.Key(), Recipe: recipe, Artifact: &store.Artifact{
		Binaries: []store.Binary{{Form: store.FormFinal, Data: data}}, Cost: cost, Created: r.now,
	}}, nil
}

// calibrate finds out what an entry takes beside its code, and that there is
// nothing that all share.
func (r *replayer) calibrate(ctx context.Context) error {
	const n, blocks = 3, 7
	var bytes [n + 1]int64
	for i := range n {
		e, err := r.entry(fmt.Sprint("calibrate", i), blocks, time.Second)
		if err != nil {
			return err
		}
		d := disk.New(r.options)
		if _, err := d.Put(ctx, e); err != nil {
			return errors.Join(err, d.Close())
		}
		if err := d.Close(); err != nil { // waits for the count
			return err
		}
		d = disk.New(r.options)
		bytes[i+1] = d.Status().Bytes
		if err := d.Close(); err != nil {
			return err
		}
	}
	r.beside = bytes[n] - bytes[n-1] - blocks*block
	if bytes[n] != n*(r.beside+blocks*block) {
		return fmt.Errorf("one after the other, equal entries take %d bytes", bytes)
	}
	return nil
}

// request is one request by a process of its own. Close waits for the evictor.
func (r *replayer) request(ctx context.Context, q request) (hit bool, err error) {
	r.now = began.Add(q.at)
	blocks := (q.bytes - r.beside) / block
	if blocks < 1 {
		return false, fmt.Errorf("%d bytes: an entry takes %d beside its code", q.bytes, r.beside)
	}
	if imageOf(q.key) != q.key {
		blocks += 2 // the directories of the image and of its constants are there
	}
	e, err := r.entry(q.key, blocks, q.cost)
	if err != nil {
		return false, err
	}
	d := disk.New(r.options)
	if _, err := d.Get(ctx, e.Key); err == nil {
		return true, d.Close()
	}
	if _, err := d.Put(ctx, e); err != nil && !errors.Is(err, store.ErrTooLarge) {
		return false, errors.Join(err, d.Close())
	}
	return false, d.Close()
}
