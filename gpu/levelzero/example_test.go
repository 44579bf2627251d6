//go:build !nogpu && linux

package levelzero_test

import (
	"context"
	"fmt"
	"log"
	"os"

	"github.com/kernstash/kernstash"
	"github.com/kernstash/kernstash/gpu/levelzero"
	"github.com/kernstash/kernstash/key"
)

// A kernel of SPIR-V, from the cache or from the compiler, is launched.
func ExampleNewContext() {
	cache, err := kernstash.Open(kernstash.Options{})
	if err != nil {
		log.Fatal(err)
	}
	defer cache.Close()
	devices, err := levelzero.Devices()
	if err != nil {
		log.Fatal(err)
	}
	d := devices[0]
	c, err := levelzero.NewContext(cache, d)
	if err != nil {
		log.Fatal(err)
	}
	defer c.Close()

	code, err := os.ReadFile("kernels.spv") // of clang, or of ocloc
	if err != nil {
		log.Fatal(err)
	}
	image, err := kernstash.NewImage(key.SPIRV, code)
	if err != nil {
		log.Fatal(err)
	}
	add, err := c.Kernel(context.Background(), kernstash.Request{Image: image, CompileOptions: "-ze-opt-level=2"}, "add")
	if err != nil {
		log.Fatal(err) // a *kernstash.BuildError has the compiler's log
	}
	defer add.Release()

	const n = 1000
	var buffers [3]*levelzero.Buffer
	for i := range buffers {
		if buffers[i], err = c.NewBuffer(d, levelzero.Shared, 4*n); err != nil {
			log.Fatal(err)
		}
		defer buffers[i].Release()
	}
	list, err := c.NewList(d)
	if err != nil {
		log.Fatal(err)
	}
	defer list.Release()
	queue, err := c.NewQueue(d)
	if err != nil {
		log.Fatal(err)
	}
	defer queue.Release()
	if err := add.Native().Launch(list, [3]int{n, 1, 1}, buffers[0], buffers[1], buffers[2], int32(n)); err != nil {
		log.Fatal(err)
	}
	if err := list.Close(); err != nil {
		log.Fatal(err)
	}
	if err := queue.Execute(list); err != nil {
		log.Fatal(err)
	}
	if err := queue.Finish(context.Background()); err != nil {
		log.Fatal(err)
	}
	sums, err := buffers[2].Bytes()
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(len(sums))
}
