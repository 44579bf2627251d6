package main

import (
	"context"
	"errors"

	"github.com/kernstash/kernstash"
	"github.com/kernstash/kernstash/gpu/opencl"
	"github.com/kernstash/kernstash/internal/demo"
	"github.com/kernstash/kernstash/key"
)

// memory is where the demonstration's buffers are.
type memory struct {
	context *opencl.Context
	queue   *opencl.Queue
}

// Buffer makes a buffer and fills it; the content is there when it returns.
func (m memory) Buffer(size int, content []byte) (demo.Buffer, error) {
	b, err := m.context.NewBuffer(opencl.ReadWrite, size)
	if err != nil {
		return nil, err
	}
	if len(content) > 0 {
		if err := m.queue.Write(b, 0, content); err != nil {
			return nil, errors.Join(err, b.Release())
		}
	}
	return &buffer{b, m.queue}, nil
}

type buffer struct {
	*opencl.Buffer
	queue *opencl.Queue
}

// Read waits for what was launched and returns the content.
func (b *buffer) Read() ([]byte, error) {
	content := make([]byte, b.Size())
	return content, b.queue.Read(b.Buffer, 0, content)
}

// Release gives the buffer back; a driver that fails to has nothing to tell
// the demonstration.
func (b *buffer) Release() { _ = b.Buffer.Release() }

// launchArgs turns the demonstration's arguments into the adapter's.
func launchArgs(args []any) []any {
	out := make([]any, len(args))
	for i, arg := range args {
		if b, ok := arg.(*buffer); ok {
			arg = b.Buffer
		}
		out[i] = arg
	}
	return out
}

// bareMachine builds as an application without kernstash does.
type bareMachine struct {
	memory
	runtime *opencl.Runtime
}

func newBareMachine(device *opencl.Device) (*bareMachine, error) {
	c, q, err := openContext(device)
	if err != nil {
		return nil, err
	}
	return &bareMachine{memory{c, q}, opencl.NewRuntime(c, opencl.RuntimeOptions{})}, nil
}

func (m *bareMachine) close() error { return errors.Join(m.queue.Release(), m.context.Release()) }

// Build compiles with the driver.
func (m *bareMachine) Build(ctx context.Context, source, options string) (demo.Built, error) {
	image, err := key.NewImage(key.OpenCLC, []byte(source))
	if err != nil {
		return nil, err
	}
	recipe := &key.Recipe{Image: image, Options: key.NewOptions(options, "")}
	p, _, err := m.runtime.Build(ctx, kernstash.Job{Devices: []int{0}, Recipe: recipe})
	if err != nil {
		return nil, err
	}
	return &bareProgram{m, p}, nil
}

type bareProgram struct {
	m *bareMachine
	p *opencl.Program
}

func (p *bareProgram) Launch(kernel string, global, local []int, args ...any) error {
	k, err := p.p.NewKernel(kernel)
	if err != nil {
		return err
	}
	return errors.Join(k.Launch(p.m.queue, global, local, launchArgs(args)...), k.Release())
}

func (p *bareProgram) Release() { _ = p.p.Release() }

// stashMachine builds through kernstash.
type stashMachine struct {
	memory
	cached *opencl.Cached
}

func newStashMachine(cache *kernstash.Cache, device *opencl.Device) (*stashMachine, error) {
	cached, err := opencl.NewContext(cache, device)
	if err != nil {
		return nil, err
	}
	q, err := cached.NewQueue(device, opencl.QueueOptions{})
	if err != nil {
		return nil, errors.Join(err, cached.Close())
	}
	return &stashMachine{memory{cached.Context, q}, cached}, nil
}

func (m *stashMachine) close() error { return errors.Join(m.queue.Release(), m.cached.Close()) }

// Build asks the cache. The image is made here, within what is measured.
func (m *stashMachine) Build(ctx context.Context, source, options string) (demo.Built, error) {
	image, err := kernstash.NewImage(key.OpenCLC, []byte(source))
	if err != nil {
		return nil, err
	}
	p, err := m.cached.Program(ctx, kernstash.Request{Image: image, CompileOptions: options})
	if err != nil {
		return nil, err
	}
	return &stashProgram{m, p}, nil
}

type stashProgram struct {
	m *stashMachine
	p *opencl.CachedProgram
}

func (p *stashProgram) Launch(kernel string, global, local []int, args ...any) error {
	k, err := p.p.Kernel(context.Background(), kernel)
	if err != nil {
		return err
	}
	defer k.Release()
	return k.Launch(p.m.queue, global, local, launchArgs(args)...)
}

func (p *stashProgram) Release() { p.p.Release() }
