package main

import (
	"context"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/kernstash/kernstash/key"
	"github.com/kernstash/kernstash/store"
	"github.com/kernstash/kernstash/store/disk"
)

// The tree is as it would grow: nine of ten entries have an image of their
// own, the others are images that were built with a hundred options each, as
// by a program that tunes itself. All are of one device.
const optionsEach = 100

// source is a kernel, small enough for files of about 1 KB.
var source = strings.Repeat("kernel void k(global float *p) { p[get_global_id(0)] *= 2.0f; }\n", 8)

// entry returns the i-th entry.
func entry(i int) (*store.Entry, error) {
	image, options := i, "-cl-fast-relaxed-math"
	if i%1000 < optionsEach {
		image, options = i/1000*1000, fmt.Sprintf("-DTILE=%d", i%1000)
	}
	img, err := key.NewImage(key.OpenCLC, fmt.Appendf(nil, "// %d\n%s", image, source))
	if err != nil {
		return nil, err
	}
	recipe := &key.Recipe{
		Device:  key.Device{API: "bench", Platform: "p", Name: "n", Version: "1", Driver: "2"},
		Image:   img,
		Options: key.NewOptions(options, ""),
	}
	data := make([]byte, 600)
	copy(data, fmt.Sprint(i))
	return &store.Entry{
		Key: recipe.Key(), Recipe: recipe,
		Artifact: &store.Artifact{
			Binaries: []store.Binary{{Form: store.FormFinal, Data: data}},
			Kernels:  []store.Kernel{{Name: "k"}},
			Cost:     time.Duration(i%977+1) * time.Millisecond, Created: time.Now(),
		},
	}, nil
}

// fill puts entries from up to n, with two goroutines a core. done, which may be
// nil, is called now and then.
func fill(dir string, from, n int, done func(n int64)) error {
	s := disk.New(disk.Options{Dir: dir})
	defer s.Close()
	var next, puts atomic.Int64
	next.Store(int64(from))
	var once sync.Once
	var failed error
	var wg sync.WaitGroup
	for range 2 * runtime.NumCPU() {
		wg.Go(func() {
			for {
				i := int(next.Add(1) - 1)
				if i >= n {
					return
				}
				e, err := entry(i)
				if err == nil {
					_, err = s.Put(context.Background(), e)
				}
				if err != nil {
					once.Do(func() { failed = err })
					return
				}
				if k := puts.Add(1); done != nil && k%10_000 == 0 {
					done(k)
				}
			}
		})
	}
	wg.Wait()
	return failed
}
