//go:build !nogpu

package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/kernstash/kernstash"
	"github.com/kernstash/kernstash/gpu/cuda"
	"github.com/kernstash/kernstash/gpu/levelzero"
	"github.com/kernstash/kernstash/gpu/opencl"
	"github.com/kernstash/kernstash/gpu/rtc"
	"github.com/kernstash/kernstash/internal/demo"
	"github.com/kernstash/kernstash/key"
)

// machineRuntimes are all, in the order in which they are looked for.
var machineRuntimes = []machineRuntime{
	{
		"opencl", "OpenCL", "driver's cache",
		"Driver's cache: kernstash switched off, the driver's own cache filled by another process.",
		func() ([]machineDevice, error) {
			all, err := allDevices()
			return machineDevices(all, err, deviceTitle, openclMachine)
		},
	},
	{
		"cuda", "CUDA", "alone",
		"Alone: kernstash switched off, NVIDIA's own caches filled by another process. NVRTC compiles anew in each\n" +
			"process; the driver keeps only what it makes of PTX, and here NVRTC makes machine code.",
		func() ([]machineDevice, error) {
			all, err := cuda.Devices()
			if err != nil {
				err = fmt.Errorf("no CUDA here: %w", err)
			}
			return machineDevices(all, err, func(d *cuda.Device) string { return d.Name }, cudaMachine)
		},
	},
	{
		"levelzero", "Level Zero", "driver's cache",
		"Driver's cache: kernstash switched off, the driver's own cache (l0_cache) filled by another process; some\n" +
			"releases keep none for SPIR-V.",
		func() ([]machineDevice, error) {
			all, err := levelzeroDevices()
			return machineDevices(all, err, func(d *levelzero.Device) string { return d.Name }, levelzeroMachine)
		},
	},
}

func machineDevices[D any](all []D, err error, title func(D) string, open func(*kernstash.Cache, D) (*machine, error)) (devices []machineDevice, _ error) {
	for _, d := range all {
		devices = append(devices, machineDevice{title(d), func(c *kernstash.Cache) (*machine, error) { return open(c, d) }})
	}
	return devices, err
}

// bufferOf makes a buffer of a runtime's own, and of how that is written and read.
func bufferOf[B interface{ Release() error }](size int, b B, err error, write, read func(b B, offset int, p []byte) error) (*machineBuffer, error) {
	if err != nil {
		return nil, err
	}
	return &machineBuffer{b, size, func(p []byte) error { return write(b, 0, p) }, func(p []byte) error { return read(b, 0, p) }, b.Release}, nil
}

// programOf makes a program of a runtime's own, and of how its kernels are launched.
func programOf[P interface {
	Kernel(context.Context, string) (K, error)
	Release()
}, K interface{ Release() }](p P, err error, launch func(k K, global, local []int, args []any) error) (demo.Built, error) {
	if err != nil {
		return nil, err
	}
	return machineProgram{p.Release, func(name string, global, local []int, args []any) error {
		k, err := p.Kernel(context.Background(), name)
		if err != nil {
			return err
		}
		defer k.Release()
		return launch(k, global, local, args)
	}}, nil
}

func openclMachine(cache *kernstash.Cache, d *opencl.Device) (*machine, error) {
	c, err := opencl.NewContext(cache, d)
	if err != nil {
		return nil, err
	}
	q, err := c.NewQueue(d, opencl.QueueOptions{})
	if err != nil {
		return nil, errors.Join(err, c.Close())
	}
	return &machine{
		buffer: func(size int) (*machineBuffer, error) {
			b, err := c.NewBuffer(opencl.ReadWrite, size)
			write := func(b *opencl.Buffer, at int, p []byte) error { return q.Write(b, at, p) }
			return bufferOf(size, b, err, write, func(b *opencl.Buffer, at int, p []byte) error { return q.Read(b, at, p) })
		},
		build: func(ctx context.Context, p demo.Program) (demo.Built, error) {
			image, err := kernstash.NewImage(key.OpenCLC, []byte(p.Source))
			if err != nil {
				return nil, err
			}
			got, err := c.Program(ctx, kernstash.Request{Image: image, CompileOptions: p.Options})
			return programOf(got, err, func(k *opencl.CachedKernel, global, local []int, args []any) error {
				return k.Launch(q, global, local, args...)
			})
		},
		close: func() error { return errors.Join(q.Release(), c.Close()) },
	}, nil
}

func cudaMachine(cache *kernstash.Cache, d *cuda.Device) (*machine, error) {
	c, err := cuda.NewContext(cache, d)
	if err != nil {
		return nil, err
	}
	stream := c.DefaultStream()
	return &machine{
		buffer: func(size int) (*machineBuffer, error) {
			b, err := c.NewMemory(size)
			return bufferOf(size, b, err, stream.Write, stream.Read)
		},
		build: func(ctx context.Context, p demo.Program) (demo.Built, error) {
			l, err := c.NVRTC()
			if err != nil {
				return nil, err
			}
			got, err := c.Compile(ctx, rtc.Request{
				Source: []byte(p.CUDA), Name: p.Name + ".cu", Options: append(strings.Fields(p.Options), "--gpu-architecture="+d.Arch(l)),
			})
			return programOf(got, err, func(k *cuda.CachedKernel, global, local []int, args []any) error {
				return k.Launch(nil, groups(global, local), local, args...)
			})
		},
		close: c.Close,
	}, nil
}

// groups returns how many groups of a local size make up a global one.
func groups(global, local []int) []int {
	n := make([]int, len(global))
	for i := range global {
		n[i] = global[i] / local[i]
	}
	return n
}

func levelzeroMachine(cache *kernstash.Cache, d *levelzero.Device) (*machine, error) {
	c, err := levelzero.NewContext(cache, d)
	if err != nil {
		return nil, err
	}
	q, err := c.NewQueue(d)
	if err != nil {
		return nil, errors.Join(err, c.Close())
	}
	return &machine{
		buffer: func(size int) (*machineBuffer, error) {
			b, err := c.NewBuffer(d, levelzero.Shared, size)
			if err != nil {
				return nil, err
			}
			content, err := b.Bytes()
			write := func(_ *levelzero.Buffer, _ int, p []byte) error { copy(content, p); return nil }
			return bufferOf(size, b, err, write, func(_ *levelzero.Buffer, _ int, p []byte) error { copy(p, content); return nil })
		},
		build: func(ctx context.Context, p demo.Program) (demo.Built, error) {
			image, err := kernstash.NewImage(key.SPIRV, p.SPIRV)
			if err != nil {
				return nil, err
			}
			got, err := c.Program(ctx, kernstash.Request{Image: image})
			return programOf(got, err, func(k *levelzero.CachedKernel, global, local []int, args []any) error {
				r := levelzero.Range{Group: [3]int{1, 1, 1}}
				copy(r.Groups[:], groups(global, local))
				copy(r.Group[:], local)
				l, err := c.NewList(d)
				if err != nil {
					return err
				}
				// Shared memory is the host's again when all of it was executed.
				for _, step := range []func() error{
					func() error { return k.LaunchRange(l, r, args...) }, l.Close,
					func() error { return q.Execute(l) }, func() error { return q.Finish(ctx) },
				} {
					if err = step(); err != nil {
						break
					}
				}
				return errors.Join(err, l.Release())
			})
		},
		close: func() error { return errors.Join(q.Release(), c.Close()) },
	}, nil
}
