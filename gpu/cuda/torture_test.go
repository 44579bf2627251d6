//go:build !nogpu

package cuda_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kernstash/kernstash"
	"github.com/kernstash/kernstash/gpu/cuda"
)

// TestTorture: goroutines ask for programs of all kinds, launch, give up, clear the
// memory tiers and narrow them, while calls of the driver fail now and then, and in
// the end the context is closed under them. Every answer is right, or an error that
// says what was done to it; nothing is left behind, and nothing is released twice,
// which the driver answers with an error.
func TestTorture(t *testing.T) {
	fake(t)
	before := left(t)
	c := open(t) // of its own, so that its memory outlives the other
	_, x, done := openCached(t, privateDir(t), cuda.CachedOptions{})
	var requests []kernstash.Request
	for i := range 3 {
		for _, arch := range []string{"sm_70", "compute_70"} {
			r := saxpy("-arch="+arch, fmt.Sprint("-DN=", i))
			if i == 2 {
				r.Name = "some/where.cu"
			}
			q, err := x.Request(r)
			if err != nil {
				t.Fatal(err)
			}
			requests = append(requests, q)
		}
	}
	requests = append(requests, kernstash.Request{Image: ptxImage(t, ptxSource)})
	y, err := c.NewMemory(64)
	if err != nil {
		t.Fatal(err)
	}
	compiler, err := x.Compiler()
	if err != nil {
		t.Fatal(err)
	}
	allowed := func(err error) bool {
		return err == nil || errors.Is(err, kernstash.ErrClosed) || errors.Is(err, context.DeadlineExceeded) ||
			errors.Is(err, cuda.OutOfMemory) || errors.Is(err, cuda.UnknownError) || errors.Is(err, cuda.NoBinaryForGPU)
	}
	stop := make(chan struct{})
	var all sync.WaitGroup
	for g := range 6 {
		all.Go(func() {
			random := rand.New(rand.NewPCG(7, uint64(g)))
			for {
				select {
				case <-stop:
					return
				default:
				}
				i := random.IntN(len(requests))
				ctx, cancel := context.WithTimeout(context.Background(), time.Duration(random.IntN(400))*time.Millisecond)
				k, err := x.Kernel(ctx, requests[i], map[bool]string{true: "params_8_4", false: "saxpy<float>"}[i == len(requests)-1])
				cancel()
				if !allowed(err) {
					t.Error(err)
				}
				if err != nil {
					continue
				}
				if i < len(requests)-1 {
					err = k.Native().Launch(nil, []int{1}, []int{4}, float32(1), y, y, int32(4))
				} else {
					err = k.Native().Launch(nil, []int{1}, []int{1}, y, int32(4))
				}
				k.Release()
				if !allowed(err) && !errors.Is(err, cuda.ErrReleased) && !errors.Is(err, cuda.InvalidHandle) {
					t.Error(err)
				}
				switch random.IntN(40) {
				case 0:
					x.Clear()
				case 1:
					if err := compiler.SetLimits(0, random.IntN(4)); err != nil {
						t.Error(err)
					}
				case 2:
					failNext(t, "cuModuleLoadDataEx", int(cuda.OutOfMemory), 0, 1)
				case 3:
					failNext(t, "cuLinkComplete", int(cuda.UnknownError), 0, 1)
				}
			}
		})
	}
	time.Sleep(1500 * time.Millisecond)
	done()
	close(stop)
	all.Wait()
	released(t, y)
	released(t, c)
	if diff := cmp.Diff(before, left(t)); diff != "" {
		t.Errorf("left behind (-before +after):\n%s", diff)
	}
}
