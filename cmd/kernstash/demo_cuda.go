//go:build !nogpu

package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"

	"github.com/kernstash/kernstash"
	"github.com/kernstash/kernstash/gpu/cuda"
	"github.com/kernstash/kernstash/gpu/rtc"
	"github.com/kernstash/kernstash/internal/demo"
)

func cudaDevices() ([]demoDevice, error) {
	all, err := cuda.Devices()
	if err != nil {
		return nil, fmt.Errorf("no CUDA here: %w", err)
	}
	devices := make([]demoDevice, len(all))
	for i, d := range all {
		devices[i] = cudaDevice{d}
	}
	return devices, nil
}

type cudaDevice struct{ *cuda.Device }

func (d cudaDevice) title() string { return d.Name }

// cudaMemory is where the buffers are.
type cudaMemory struct{ context *cuda.Context }

// Buffer makes a buffer and fills it; the content is there when it returns.
func (m cudaMemory) Buffer(size int, content []byte) (demo.Buffer, error) {
	b, err := m.context.NewMemory(size)
	if err != nil {
		return nil, err
	}
	stream := m.context.DefaultStream()
	if len(content) > 0 {
		if err := stream.Write(b, 0, content); err != nil {
			return nil, errors.Join(err, b.Release())
		}
	}
	return &cudaBuffer{b, stream}, nil
}

type cudaBuffer struct {
	*cuda.Memory
	stream *cuda.Stream
}

// Read waits for what was launched and returns the content.
func (b *cudaBuffer) Read() ([]byte, error) {
	content := make([]byte, b.Size())
	return content, b.stream.Read(b.Memory, 0, content)
}

// Release gives the buffer back.
func (b *cudaBuffer) Release() { _ = b.Memory.Release() }

// cudaArgs turns the demonstration's arguments into the adapter's.
func cudaArgs(args []any) []any {
	out := make([]any, len(args))
	for i, arg := range args {
		if b, ok := arg.(*cudaBuffer); ok {
			arg = b.Memory
		}
		out[i] = arg
	}
	return out
}

// groups returns how many groups of a local size make up a global one.
func groups(global, local []int) []int {
	n := make([]int, len(global))
	for i := range global {
		n[i] = global[i] / local[i]
	}
	return n
}

// nvrtcRequest returns what NVRTC is asked for.
func nvrtcRequest(p demo.Program, arch string) rtc.Request {
	return rtc.Request{
		Source: []byte(p.CUDA), Name: p.Name + ".cu",
		Options: append(strings.Fields(p.Options), "--gpu-architecture="+arch),
	}
}

// cudaBare builds as an application without kernstash does: with NVRTC, for the
// device's own architecture.
type cudaBare struct {
	cudaMemory
	nvrtc func() (*rtc.Library, error)
}

func (d cudaDevice) bare() (demoMachine, error) {
	c, err := cuda.Open(d.Device)
	if err != nil {
		return nil, err
	}
	return &cudaBare{cudaMemory{c}, sync.OnceValues(openNVRTC)}, nil
}

func (m *cudaBare) close() error { return m.context.Release() }

// Build compiles.
func (m *cudaBare) Build(_ context.Context, p demo.Program) (demo.Built, error) {
	l, err := m.nvrtc()
	if err != nil {
		return nil, err
	}
	o, err := l.Compile(nvrtcRequest(p, m.context.Device().Arch(l)))
	if err != nil {
		return nil, err
	}
	code, ok := o.Get(rtc.CUBIN)
	if !ok { // this NVRTC does not know the device
		code, _ = o.Get(rtc.PTX)
	}
	module, err := m.context.LoadModule(code)
	if err != nil {
		return nil, err
	}
	return cudaProgram{module}, nil
}

type cudaProgram struct{ module *cuda.Module }

func (p cudaProgram) Launch(kernel string, global, local []int, args ...any) error {
	k, err := p.module.Kernel(kernel)
	if err != nil {
		return err
	}
	return k.Launch(nil, groups(global, local), local, cudaArgs(args)...)
}

func (p cudaProgram) Release() { _ = p.module.Release() }

// cudaCached builds through kernstash.
type cudaCached struct {
	cudaMemory
	cached *cuda.Cached
}

func (d cudaDevice) cached(cache *kernstash.Cache) (demoMachine, error) {
	x, err := cuda.NewContext(cache, d.Device)
	if err != nil {
		return nil, err
	}
	return &cudaCached{cudaMemory{x.Context}, x}, nil
}

func (m *cudaCached) close() error { return m.cached.Close() }

// Build asks the cache. The request is made here, within what is measured.
func (m *cudaCached) Build(ctx context.Context, p demo.Program) (demo.Built, error) {
	l, err := m.cached.NVRTC()
	if err != nil {
		return nil, err
	}
	got, err := m.cached.Compile(ctx, nvrtcRequest(p, m.cached.Device().Arch(l)))
	if err != nil {
		return nil, err
	}
	return cudaCachedProgram{got}, nil
}

type cudaCachedProgram struct{ p *cuda.CachedProgram }

func (p cudaCachedProgram) Launch(kernel string, global, local []int, args ...any) error {
	k, err := p.p.Kernel(context.Background(), kernel)
	if err != nil {
		return err
	}
	defer k.Release()
	return k.Launch(nil, groups(global, local), local, cudaArgs(args)...)
}

func (p cudaCachedProgram) Release() { p.p.Release() }
