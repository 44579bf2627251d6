package kernstash

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"sync"
	"testing"
	"time"
)

// Everything at once: cancelled callers, failures of every kind, device sets,
// evictions, launches, and a Close in the middle. Whatever happens, each live
// object is released once (the fake sees to that), none is left, and no lock or
// count stays behind.
func TestStress(t *testing.T) {
	t.Parallel()
	rounds := 12
	if testing.Short() {
		rounds = 2
	}
	for round := range rounds {
		t.Run(fmt.Sprint(round), func(t *testing.T) {
			t.Parallel()
			stress(t, round)
		})
	}
}

// failing returns a build that fails in every way.
func failing(random func(int) int) func(context.Context, Job) error {
	return func(ctx context.Context, _ Job) error {
		time.Sleep(time.Duration(random(300)) * time.Microsecond)
		switch random(12) {
		case 0:
			return errors.New("sporadic")
		case 1:
			panic("driver")
		case 2:
			return ErrOutOfResources
		case 3:
			return &BuildError{Code: 1}
		case 4:
			runtime.Goexit()
		}
		return ctx.Err()
	}
}

func stress(t *testing.T, round int) {
	f := newFake(t)
	f.deferred = round%2 == 0
	other := f.devices[0]
	other.Name = "other"
	f.devices = append(f.devices, f.devices[0], other)
	f.build = failing(rand.IntN)
	f.kernel = func(*fakeProgram, string) error {
		if rand.IntN(20) == 0 {
			return ErrOutOfResources
		}
		return nil
	}
	f.capture = func([]string, bool) error {
		switch rand.IntN(6) {
		case 0, 1:
			return ErrBusy
		case 2:
			runtime.Goexit()
		}
		return nil
	}
	c := openCache(t, newRoot(t), func(o *Options) { o.Flags = map[string]string{"capture-quiet": "1ms"} })
	x := fakeContextOn(c, f)
	imgs := make([]*Image, 8)
	for i := range imgs {
		imgs[i] = image(t, src(i))
	}
	imgs[7] = image(t, "#include <a.h>")

	var all sync.WaitGroup
	end := time.Now().Add(150 * time.Millisecond)
	for w := range 16 {
		all.Go(func() {
			for time.Now().Before(end) {
				caller(t, x, imgs)
				if rand.IntN(50) == 0 {
					switch w {
					case 0:
						x.Clear()
					case 1:
						x.Len()
						c.Stats()
					case 2:
						_ = x.SetLimits(500, rand.IntN(5))
					}
				}
			}
		})
	}
	time.Sleep(100 * time.Millisecond)
	for range 2 {
		if err := x.Close(); err != nil {
			t.Errorf("Close: %v", err)
		}
		if _, _, live, kernels := f.counts(); live != 0 || kernels != 0 {
			t.Errorf("right after Close: %d live programs, %d kernels", live, kernels)
		}
		all.Wait()
	}
	if programs, kernels := x.Len(); programs != 0 || kernels != 0 {
		t.Errorf("left: %d programs, %d kernels", programs, kernels)
	}
	if n := c.cache().Engine().Awaited(); n != 0 {
		t.Errorf("%d programs still await a launch", n)
	}
}

// caller asks for a program and a kernel, launches, and releases in any order.
func caller(t *testing.T, x *fakeContext, imgs []*Image) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	if rand.IntN(3) == 0 {
		time.AfterFunc(time.Duration(rand.IntN(400))*time.Microsecond, cancel)
	}
	r := Request{Image: imgs[rand.IntN(len(imgs))]}
	if rand.IntN(2) == 0 {
		r.Devices = []int{rand.IntN(3)}
	}
	p, err := x.Program(ctx, r)
	if err != nil {
		return
	}
	k, err := p.Kernel(ctx, "k")
	if err != nil {
		p.Release()
		return
	}
	p.Launched(p.live().First(), fmt.Sprint(rand.IntN(5)))
	if rand.IntN(2) == 0 {
		p.Release()
		runtime.Gosched()
		k.Release()
		return
	}
	k.Release()
	p.Release()
}
