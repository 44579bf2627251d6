//go:build !nogpu

package opencl_test

import (
	"testing"
	"unsafe"

	"github.com/kernstash/kernstash"
	"github.com/kernstash/kernstash/gpu/opencl"
	"github.com/kernstash/kernstash/gpu/opencl/internal/cl"
	"github.com/kernstash/kernstash/key"
)

// BenchmarkDeviceInfo is the cost of one call of a driver through package dl.
func BenchmarkDeviceInfo(b *testing.B) {
	id := cl.DeviceID(device(b).Handle())
	b.ReportAllocs()
	for b.Loop() {
		if _, err := cl.Loader.Device(id, cl.DeviceAddressBits); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkIdentify is a device's share of a start, from the second on.
func BenchmarkIdentify(b *testing.B) {
	d := device(b)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := d.Identify(); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkLaunch compares a launch of a kernel with three buffers and a number
// with the bare call that queues it, its arguments set before. The queue is
// emptied every hundred launches in both.
func BenchmarkLaunch(b *testing.B) {
	c := open(b)
	q := queue(b, c)
	r := opencl.NewRuntime(c, opencl.RuntimeOptions{})
	k := kernel(b, build(b, r, job(b, r, key.BuildOptions{}, source(addSource))), "add")
	x, y, z := buffer(b, c, 256), buffer(b, c, 256), buffer(b, c, 256)
	launch := func() error { return k.Launch(q, []int{64}, []int{64}, x, y, z, float32(1)) }
	if err := launch(); err != nil {
		b.Fatal(err)
	}
	run := func(b *testing.B, launch func() error) {
		b.ReportAllocs()
		n := 0
		for b.Loop() {
			if err := launch(); err != nil {
				b.Fatal(err)
			}
			if n++; n%100 == 0 {
				if err := q.Finish(); err != nil {
					b.Fatal(err)
				}
			}
		}
	}
	global, local := &[3]uintptr{64, 1, 1}, &[3]uintptr{64, 1, 1}
	b.Run("bare", func(b *testing.B) {
		run(b, func() error {
			return cl.Status("clEnqueueNDRangeKernel", q.Handle(), k.Handle(), 1, 0, uintptr(unsafe.Pointer(global)), uintptr(unsafe.Pointer(local)), 0, 0, 0)
		})
	})
	b.Run("Launch", func(b *testing.B) { run(b, launch) })
}

// BenchmarkHit is a kernel of a program that is in memory: asked for, had, and
// released.
func BenchmarkHit(b *testing.B) {
	_, c, _, done, err := openCached(b.TempDir(), device(b))
	if err != nil {
		b.Fatal(err)
	}
	image, err := kernstash.NewImage(key.OpenCLC, []byte(addSource))
	if err != nil {
		b.Fatal(err)
	}
	request := kernstash.Request{Image: image}
	b.ReportAllocs()
	for b.Loop() {
		k, err := c.Kernel(b.Context(), request, "add")
		if err != nil {
			b.Fatal(err)
		}
		k.Release()
	}
	b.StopTimer()
	if err := done(); err != nil {
		b.Fatal(err)
	}
}
