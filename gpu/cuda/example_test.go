//go:build !nogpu

package cuda_test

import (
	"context"
	"fmt"
	"log"
	"os"

	"github.com/kernstash/kernstash"
	"github.com/kernstash/kernstash/gpu/cuda"
	"github.com/kernstash/kernstash/gpu/rtc"
)

// A program compiles CUDA C++ at its first start, and loads it at every later one.
func Example() {
	ctx := context.Background()
	dir, err := os.MkdirTemp("", "example")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	request := rtc.Request{
		Source:      []byte("template <class T> __global__ void fill(T *p, T v) { p[threadIdx.x] = v; }"),
		Expressions: []string{"fill<float>"},
	}
	for range 2 {
		cache, err := kernstash.Open(kernstash.Options{Dir: dir}) // an application passes none
		if err != nil {
			log.Fatal(err)
		}
		devices, err := cuda.Devices()
		if err != nil {
			log.Fatal(err)
		}
		c, err := cuda.NewContext(cache, devices[0])
		if err != nil {
			log.Fatal(err)
		}
		p, err := c.Compile(ctx, request)
		if err != nil {
			log.Fatal(err)
		}
		k, err := p.Kernel(ctx, "fill<float>")
		if err != nil {
			log.Fatal(err)
		}
		m, err := c.NewMemory(4 * 64)
		if err != nil {
			log.Fatal(err)
		}
		if err := k.Native().Launch(nil, []int{1}, []int{64}, m, float32(1)); err != nil {
			log.Fatal(err)
		}
		fmt.Println(p.Origin())
		k.Release()
		p.Release()
		_ = m.Release()
		_ = c.Close()
		_ = cache.Close()
	}
	// Output:
	// compiled
	// disk
}
