//go:build !nogpu

package opencl_test

import (
	"context"
	"encoding/binary"
	"fmt"
	"log"
	"os"
	"path/filepath"

	"github.com/kernstash/kernstash"
	"github.com/kernstash/kernstash/gpu/opencl"
	"github.com/kernstash/kernstash/key"
	"github.com/kernstash/kernstash/stats"
)

const exampleSource = `
kernel void fill(global int *p, int v)  { p[get_global_id(0)] = v; }
kernel void add(global int *p, int v)   { p[get_global_id(0)] += v; }
kernel void scale(global int *p, int v) { p[get_global_id(0)] *= v; }
`

// exampleContext opens a cache on a directory, and a context on the first
// device. An application passes kernstash.Options{} and has its user's cache.
func exampleContext(dir string) (*kernstash.Cache, *opencl.Cached, *opencl.Queue, *opencl.Buffer) {
	cache, err := kernstash.Open(kernstash.Options{Dir: dir})
	if err != nil {
		log.Fatal(err)
	}
	device, err := firstDevice("POCL")
	if err != nil {
		log.Fatal(err)
	}
	c, err := opencl.NewContext(cache, device)
	if err != nil {
		log.Fatal(err)
	}
	q, err := c.NewQueue(device, opencl.QueueOptions{})
	if err != nil {
		log.Fatal(err)
	}
	b, err := c.NewBuffer(opencl.ReadWrite, 64*4)
	if err != nil {
		log.Fatal(err)
	}
	return cache, c, q, b
}

func first(q *opencl.Queue, b *opencl.Buffer) int32 {
	out := make([]byte, 4)
	if err := q.Read(b, 0, out); err != nil {
		log.Fatal(err)
	}
	return int32(binary.LittleEndian.Uint32(out))
}

// Submission of the same kernel in a loop: the loop asks for what it needs each
// time round, and the program and its kernel are made once.
func Example_theSameKernelInALoop() {
	dir, _ := os.MkdirTemp("", "kernstash-example-")
	defer os.RemoveAll(dir)
	cache, c, q, b := exampleContext(filepath.Join(dir, "root"))
	image, err := kernstash.NewImage(key.OpenCLC, []byte(exampleSource))
	if err != nil {
		log.Fatal(err)
	}
	for i := range 10 {
		k, err := c.Kernel(context.Background(), kernstash.Request{Image: image}, "fill")
		if err != nil {
			log.Fatal(err)
		}
		if err := k.Launch(q, []int{64}, []int{16}, b, int32(i)); err != nil {
			log.Fatal(err)
		}
		k.Release()
	}
	fmt.Println("last value:", first(q, b))
	s := cache.Stats()
	fmt.Println("builds:", s[stats.Builds], "found in memory:", s[stats.MemoryMisses] == 1)
	_ = b.Release()
	_ = q.Release()
	_ = c.Close()
	_ = cache.Close()
	// Output:
	// last value: 9
	// builds: 1 found in memory: true
}

// Submission of several kernels of a single program: the program is built once
// for all of them.
func Example_manyKernelsOfOneProgram() {
	dir, _ := os.MkdirTemp("", "kernstash-example-")
	defer os.RemoveAll(dir)
	cache, c, q, b := exampleContext(filepath.Join(dir, "root"))
	image, err := kernstash.NewImage(key.OpenCLC, []byte(exampleSource))
	if err != nil {
		log.Fatal(err)
	}
	p, err := c.Program(context.Background(), kernstash.Request{Image: image, CompileOptions: "-cl-std=CL1.2"})
	if err != nil {
		log.Fatal(err)
	}
	for _, name := range []string{"fill", "add", "scale"} {
		k, err := p.Kernel(context.Background(), name)
		if err != nil {
			log.Fatal(err)
		}
		if err := k.Launch(q, []int{64}, []int{16}, b, int32(5)); err != nil {
			log.Fatal(err)
		}
		k.Release()
	}
	p.Release()
	fmt.Println("(5 + 5) * 5 =", first(q, b))
	fmt.Println("builds:", cache.Stats()[stats.Builds])
	_ = b.Release()
	_ = q.Release()
	_ = c.Close()
	_ = cache.Close()
	// Output:
	// (5 + 5) * 5 = 50
	// builds: 1
}

// Restart of an application: what the first run built, the second one loads.
// Here both runs are in one process, with a cache of their own each.
func Example_restart() {
	dir, _ := os.MkdirTemp("", "kernstash-example-")
	defer os.RemoveAll(dir)
	image, err := kernstash.NewImage(key.OpenCLC, []byte(exampleSource))
	if err != nil {
		log.Fatal(err)
	}
	for _, run := range []string{"first run:", "second run:"} {
		cache, c, q, b := exampleContext(filepath.Join(dir, "root"))
		p, err := c.Program(context.Background(), kernstash.Request{Image: image})
		if err != nil {
			log.Fatal(err)
		}
		k, err := p.Kernel(context.Background(), "fill")
		if err != nil {
			log.Fatal(err)
		}
		if err := k.Launch(q, []int{64}, []int{16}, b, int32(7)); err != nil {
			log.Fatal(err)
		}
		fmt.Println(run, p.Origin(), first(q, b))
		k.Release()
		p.Release()
		_ = b.Release()
		_ = q.Release()
		_ = c.Close() // on PoCL this captures what the launch made
		_ = cache.Close()
	}
	// Output:
	// first run: compiled 7
	// second run: disk 7
}
