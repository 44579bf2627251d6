//go:build !nogpu

package opencl_test

import (
	"errors"
	"testing"
	"time"

	"github.com/kernstash/kernstash"
	"github.com/kernstash/kernstash/gpu/opencl"
	"github.com/kernstash/kernstash/key"
)

func TestReleasedQueuesAreEmpty(t *testing.T) {
	c := open(t)
	r := opencl.NewRuntime(c, opencl.RuntimeOptions{})
	k := kernel(t, build(t, r, job(t, r, key.BuildOptions{}, source(`
kernel void spin(global int *out)
{
	int s = 0;
	for (int i = 0; i < 100000000; i++)
		s = s * 1664525 + i ^ (s >> 3);
	out[get_global_id(0)] = s;
}`))), "spin")
	q, err := c.NewQueue(c.Devices()[0], opencl.QueueOptions{})
	if err != nil {
		t.Fatal(err)
	}
	e, err := k.LaunchRange(q, opencl.Range{Global: []int{8}, Local: []int{1}}, buffer(t, c, 32))
	if err != nil {
		t.Fatal(err)
	}
	defer released(t, e)
	released(t, q)
	if s, err := e.Status(); err != nil || s != opencl.Complete {
		t.Errorf("the queue is released, and its launch is %v, %v", s, err)
	}
	if err := e.Wait(); err != nil {
		t.Error(err)
	}
}

// TestBinariesKeepLaunchesOut: who asks a deferring driver for a binary waits
// for a launch that is being queued.
func TestBinariesKeepLaunchesOut(t *testing.T) {
	c := open(t)
	plain := opencl.NewRuntime(c, opencl.RuntimeOptions{})
	p := build(t, plain, job(t, plain, key.BuildOptions{}, source(addSource)))
	ahead := opencl.NewRuntime(c, opencl.RuntimeOptions{SpecializeLocalSizes: [][3]int{{4, 1, 1}}})
	for name, ask := range map[string]func() error{
		"Binary": func() error {
			b, err := p.Binary()
			if err == nil && len(b) == 0 {
				err = errors.New("no binary")
			}
			return err
		},
		"Build for local sizes": func() error {
			p, a, err := ahead.Build(t.Context(), job(t, ahead, key.BuildOptions{}, source(addSource)))
			if err != nil {
				return err
			}
			if a == nil {
				err = errors.New("no artifact")
			}
			return errors.Join(err, p.Release())
		},
	} {
		t.Run(name, func(t *testing.T) {
			release := opencl.HoldLaunches()
			done := make(chan error, 1)
			go func() { done <- ask() }()
			select {
			case err := <-done:
				t.Errorf("it did not wait: %v", err)
				done <- err
			case <-time.After(time.Second):
			}
			release()
			if err := <-done; err != nil {
				t.Error(err)
			}
		})
	}
}

func TestBinaryGivesUpWhereLaunchesDoNotPause(t *testing.T) {
	c := open(t)
	r := opencl.NewRuntime(c, opencl.RuntimeOptions{})
	p := build(t, r, job(t, r, key.BuildOptions{}, source(addSource)))
	stop, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		for {
			select {
			case <-stop:
				return
			default:
				opencl.CountLaunch()
			}
		}
	}()
	// A try may fall between two launches, so there may be a binary.
	if b, err := p.Binary(); err != nil && !errors.Is(err, kernstash.ErrBusy) || err == nil && len(b) == 0 {
		t.Errorf("Binary beside launches: %d bytes, %v", len(b), err)
	}
	close(stop)
	<-ended
	if b, err := p.Binary(); err != nil || len(b) == 0 {
		t.Errorf("Binary afterwards: %d bytes, %v", len(b), err)
	}
}
