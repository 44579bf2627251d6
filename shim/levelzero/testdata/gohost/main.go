// Command gohost makes a module through the Go library, which caches by itself.
//
//	gohost FILE.spv
package main

import (
	"context"
	"fmt"
	"os"

	"github.com/kernstash/kernstash"
	"github.com/kernstash/kernstash/gpu/levelzero"
	"github.com/kernstash/kernstash/key"
)

func main() {
	if err := run(os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(file string) error {
	code, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	image, err := kernstash.NewImage(key.SPIRV, code)
	if err != nil {
		return err
	}
	cache, err := kernstash.Open(kernstash.Options{})
	if err != nil {
		return err
	}
	defer cache.Close()
	devices, err := levelzero.Devices()
	if err != nil {
		return err
	}
	x, err := levelzero.NewContext(cache, devices[0])
	if err != nil {
		return err
	}
	defer x.Close()
	p, err := x.Program(context.Background(), kernstash.Request{Image: image})
	if err != nil {
		return err
	}
	defer p.Release()
	fmt.Println(p.Origin())
	return nil
}
