//go:build !nogpu

package main

import (
	"context"
	"errors"

	"github.com/kernstash/kernstash"
	"github.com/kernstash/kernstash/gpu/opencl"
	"github.com/kernstash/kernstash/internal/demo"
	"github.com/kernstash/kernstash/key"
)

func openclDevices() ([]demoDevice, error) {
	all, err := allDevices()
	if err != nil {
		return nil, err
	}
	devices := make([]demoDevice, len(all))
	for i, d := range all {
		devices[i] = openclDevice{d}
	}
	return devices, nil
}

type openclDevice struct{ *opencl.Device }

func (d openclDevice) title() string { return deviceTitle(d.Device) }

// openclMemory is where the buffers are.
type openclMemory struct {
	context *opencl.Context
	queue   *opencl.Queue
}

// Buffer makes a buffer and fills it; the content is there when it returns.
func (m openclMemory) Buffer(size int, content []byte) (demo.Buffer, error) {
	b, err := m.context.NewBuffer(opencl.ReadWrite, size)
	if err != nil {
		return nil, err
	}
	if len(content) > 0 {
		if err := m.queue.Write(b, 0, content); err != nil {
			return nil, errors.Join(err, b.Release())
		}
	}
	return &openclBuffer{b, m.queue}, nil
}

type openclBuffer struct {
	*opencl.Buffer
	queue *opencl.Queue
}

// Read waits for what was launched and returns the content.
func (b *openclBuffer) Read() ([]byte, error) {
	content := make([]byte, b.Size())
	return content, b.queue.Read(b.Buffer, 0, content)
}

// Release gives the buffer back; a driver that fails to has nothing to tell
// the demonstration.
func (b *openclBuffer) Release() { _ = b.Buffer.Release() }

// openclArgs turns the demonstration's arguments into the adapter's.
func openclArgs(args []any) []any {
	out := make([]any, len(args))
	for i, arg := range args {
		if b, ok := arg.(*openclBuffer); ok {
			arg = b.Buffer
		}
		out[i] = arg
	}
	return out
}

// openclBare builds as an application without kernstash does.
type openclBare struct {
	openclMemory
	runtime *opencl.Runtime
}

func (d openclDevice) bare() (demoMachine, error) {
	c, q, err := openContext(d.Device)
	if err != nil {
		return nil, err
	}
	return &openclBare{openclMemory{c, q}, opencl.NewRuntime(c, opencl.RuntimeOptions{})}, nil
}

func (m *openclBare) close() error { return errors.Join(m.queue.Release(), m.context.Release()) }

// Build compiles with the driver.
func (m *openclBare) Build(ctx context.Context, p demo.Program) (demo.Built, error) {
	image, err := key.NewImage(key.OpenCLC, []byte(p.Source))
	if err != nil {
		return nil, err
	}
	recipe := &key.Recipe{Image: image, Options: key.NewOptions(p.Options, "")}
	built, _, err := m.runtime.Build(ctx, kernstash.Job{Devices: []int{0}, Recipe: recipe})
	if err != nil {
		return nil, err
	}
	return &openclProgram{m, built}, nil
}

type openclProgram struct {
	m *openclBare
	p *opencl.Program
}

func (p *openclProgram) Launch(kernel string, global, local []int, args ...any) error {
	k, err := p.p.NewKernel(kernel)
	if err != nil {
		return err
	}
	return errors.Join(k.Launch(p.m.queue, global, local, openclArgs(args)...), k.Release())
}

func (p *openclProgram) Release() { _ = p.p.Release() }

// openclCached builds through kernstash.
type openclCached struct {
	openclMemory
	cached *opencl.Cached
}

func (d openclDevice) cached(cache *kernstash.Cache) (demoMachine, error) {
	cached, err := opencl.NewContext(cache, d.Device)
	if err != nil {
		return nil, err
	}
	q, err := cached.NewQueue(d.Device, opencl.QueueOptions{})
	if err != nil {
		return nil, errors.Join(err, cached.Close())
	}
	return &openclCached{openclMemory{cached.Context, q}, cached}, nil
}

func (m *openclCached) close() error { return errors.Join(m.queue.Release(), m.cached.Close()) }

// Build asks the cache. The image is made here, within what is measured.
func (m *openclCached) Build(ctx context.Context, p demo.Program) (demo.Built, error) {
	image, err := kernstash.NewImage(key.OpenCLC, []byte(p.Source))
	if err != nil {
		return nil, err
	}
	got, err := m.cached.Program(ctx, kernstash.Request{Image: image, CompileOptions: p.Options})
	if err != nil {
		return nil, err
	}
	return &openclCachedProgram{m, got}, nil
}

type openclCachedProgram struct {
	m *openclCached
	p *opencl.CachedProgram
}

func (p *openclCachedProgram) Launch(kernel string, global, local []int, args ...any) error {
	k, err := p.p.Kernel(context.Background(), kernel)
	if err != nil {
		return err
	}
	defer k.Release()
	return k.Launch(p.m.queue, global, local, openclArgs(args)...)
}

func (p *openclCachedProgram) Release() { p.p.Release() }

// openContext makes a context and a queue on one device.
func openContext(device *opencl.Device) (*opencl.Context, *opencl.Queue, error) {
	c, err := opencl.Open(device)
	if err != nil {
		return nil, nil, err
	}
	q, err := c.NewQueue(device, opencl.QueueOptions{})
	if err != nil {
		return nil, nil, errors.Join(err, c.Release())
	}
	return c, q, nil
}
