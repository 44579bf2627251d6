package main

import (
	"context"
	"errors"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/kernstash/kernstash"
	"github.com/kernstash/kernstash/gpu/opencl"
	"github.com/kernstash/kernstash/key"
	"github.com/kernstash/kernstash/stats"
	"github.com/kernstash/kernstash/store/disk"
)

// builder builds files for one device. Each file has a Cache of its own, so
// that what is counted tells about that file alone; they share the root.
type builder struct {
	options    kernstash.Options
	compile    string
	noOptions  bool
	jobs       int
	title      string
	waits      string   // why a program is not stored without a launch; "" if it is
	localSizes [][3]int // to make code for; only on a driver that wants to know
	layers     []string // read-only roots
	context    *opencl.Context
	disk       *disk.Store
}

func openBuilder(o buildOptions, d *disk.Store, layers []string, flags map[string]string, config string) (*builder, error) {
	device, err := openDevice(o.device)
	if err != nil {
		return nil, err
	}
	c, err := opencl.Open(device)
	if err != nil {
		return nil, err
	}
	b := &builder{
		options: kernstash.Options{ConfigFile: config, Flags: flags},
		compile: o.compileOptions(), noOptions: o.noOptions && device.TellsNoOptions(), jobs: o.jobs, title: deviceTitle(device), context: c, disk: d, layers: layers,
	}
	if device.Kind() == opencl.Deferred {
		b.localSizes = o.localSizes
		if len(o.localSizes) == 0 {
			b.waits = "this driver makes code when a kernel is launched; say with --local-size how it will be"
		}
	}
	return b, nil
}

func (b *builder) close() error { return errors.Join(b.context.Release(), b.disk.Close()) }

// all builds the files, some at a time, and calls tell after each.
func (b *builder) all(ctx context.Context, files []string, tell func(done int, r buildResult)) []buildResult {
	results := make([]buildResult, len(files))
	next := make(chan int)
	var mu sync.Mutex
	var workers sync.WaitGroup
	done := 0
	for range min(b.jobs, len(files)) {
		workers.Go(func() {
			for i := range next {
				r := b.file(ctx, files[i])
				mu.Lock()
				results[i] = r
				done++
				tell(done, r)
				mu.Unlock()
			}
		})
	}
	for i := range files {
		next <- i
	}
	close(next)
	workers.Wait()
	return results
}

// file builds one file and says how that ended.
func (b *builder) file(ctx context.Context, name string) buildResult {
	r := buildResult{File: name}
	start := time.Now()
	err := b.build(ctx, name, &r)
	r.MS = millis(time.Since(start))
	var diagnostic *kernstash.BuildError
	switch {
	case errors.As(err, &diagnostic):
		r.State, r.Reason, r.Log = stateFailed, "the compiler refused it", diagnostic.Log
		if diagnostic.Err != nil && strings.TrimSpace(diagnostic.Log) == "" {
			r.Reason = diagnostic.Err.Error()
		}
	case err != nil:
		r.State, r.Reason = stateFailed, err.Error()
	}
	return r
}

func (b *builder) build(ctx context.Context, name string, r *buildResult) error {
	source, err := os.ReadFile(name)
	if err != nil {
		return err
	}
	image, err := kernstash.NewImage(key.OpenCLC, source)
	if err != nil {
		return err
	}
	got, err := b.program(ctx, image, b.localSizes)
	if err == nil && got.counts[stats.DiskHits] > 0 && len(b.localSizes) > 0 {
		if sizes, missing := b.missing(ctx, got.key); missing {
			// The entry that is there is ready for other launches.
			if err := b.disk.Delete(ctx, got.key); err != nil {
				return err
			}
			got, err = b.program(ctx, image, sizes)
		} else if b.layerLacks(ctx, got.key) {
			r.State, r.Reason = stateNotStored, "a read-only layer has it, but not ready for all of these local sizes"
			return nil
		}
	}
	if err != nil {
		return err
	}
	b.judge(r, got.against, got.counts)
	return nil
}

// built is what came of a program.
type built struct {
	key     key.Key
	against string         // why it is not stored
	counts  stats.Snapshot // of this program alone
}

// program asks the cache for a program, and waits until it is stored.
func (b *builder) program(ctx context.Context, image *kernstash.Image, sizes [][3]int) (got built, err error) {
	cache, err := kernstash.Open(b.options)
	if err != nil {
		return got, err
	}
	rt := opencl.NewRuntime(b.context, opencl.RuntimeOptions{SpecializeLocalSizes: sizes})
	x := kernstash.NewContext(cache, rt, kernstash.ContextOptions{})
	p, err := x.Program(ctx, kernstash.Request{Image: image, CompileOptions: b.compile, NoOptions: b.noOptions})
	if err != nil {
		return got, errors.Join(err, cache.Close())
	}
	got.key, got.against = p.Key(0), p.Against()
	p.Release()
	const storing = time.Minute // a build tool can wait longer than an application
	cache.Flush(storing)
	var dropped *kernstash.DroppedError
	if err := cache.Close(); err != nil && !errors.As(err, &dropped) {
		return got, err
	}
	got.counts = cache.Stats()
	return got, nil
}

// judge reads from what was counted how a file ended that did not fail.
func (b *builder) judge(r *buildResult, against string, s stats.Snapshot) {
	stored := s[stats.DiskPuts] + s[stats.DiskPutsBettered] + s[stats.DiskPutsExisting]
	switch {
	case s[stats.DiskHits] > 0:
		r.State = stateThere
	case stored > 0:
		r.State, r.Bytes = stateBuilt, s[stats.DiskBytesWritten]
	case against != "":
		r.State, r.Reason = stateNotCacheable, against
	case notCacheable(s) != "":
		r.State, r.Reason = stateNotCacheable, notCacheable(s)
	case b.waits != "":
		r.State, r.Reason = stateNotStored, b.waits
	case s[stats.DiskPutsDropped] > 0:
		r.State, r.Reason = stateNotStored, "the cache is full; run 'kernstash gc'"
	default:
		r.State, r.Reason = stateNotStored, "it could not be written; 'kernstash doctor' says why"
	}
}

// notCacheable says which rule kept a program out, in words.
func notCacheable(s stats.Snapshot) string {
	for _, r := range notStored {
		if s[r.counter] > 0 {
			return r.words
		}
	}
	return ""
}
