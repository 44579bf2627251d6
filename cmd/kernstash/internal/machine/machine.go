// Package machine runs the programs of the demonstration on a device of any runtime,
// over a cache.
package machine

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/kernstash/kernstash"
	"github.com/kernstash/kernstash/cmd/kernstash/internal/cli"
	"github.com/kernstash/kernstash/cmd/kernstash/internal/demo/programs"
	"github.com/kernstash/kernstash/stats"
)

// Runtime is a runtime that the programs of package demo run on.
type Runtime struct {
	Name, Title string
	Peer, Note  string // the demonstration's column of the driver alone, and a sentence about it
	Devices     func() ([]Device, error)
}

// Device is a device of a runtime. Its machine is closed before the cache.
type Device struct {
	Title string // what --device is compared with
	Open  func(*kernstash.Cache) (*Machine, error)
}

// Machine is a programs.Machine of any runtime, over a cache.
type Machine struct {
	NewBuffer  func(size int) (*Buffer, error)
	NewProgram func(context.Context, programs.Program) (programs.Built, error)
	Close      func() error
}

// Buffer is memory of a device.
type Buffer struct {
	handle      any // what a launch takes
	size        int
	write, read func([]byte) error
	release     func() error
}

type program struct {
	release func()
	launch  func(kernel string, global, local []int, args []any) error
}

// Buffer makes a buffer with a content.
func (m *Machine) Buffer(size int, content []byte) (programs.Buffer, error) {
	b, err := m.NewBuffer(size)
	if err != nil || len(content) == 0 {
		return b, err
	}
	if err := b.write(content); err != nil {
		return nil, errors.Join(err, b.release())
	}
	return b, nil
}

// Build builds a program.
func (m *Machine) Build(ctx context.Context, p programs.Program) (programs.Built, error) {
	return m.NewProgram(ctx, p)
}

// Read returns the content.
func (b *Buffer) Read() ([]byte, error) {
	content := make([]byte, b.size)
	return content, b.read(content)
}

// Release gives the memory back.
func (b *Buffer) Release() { _ = b.release() }

func (p program) Launch(kernel string, global, local []int, args ...any) error {
	args = slices.Clone(args)
	for i := range args {
		if b, ok := args[i].(*Buffer); ok {
			args[i] = b.handle
		}
	}
	return p.launch(kernel, global, local, args)
}

func (p program) Release() { p.release() }

// Names are the names of runtimes that --runtime takes.
var Names = []string{"opencl", "cuda", "levelzero"}

// Find returns the device that choice means, the first one if it is empty, of the
// runtime of a name; if that is empty, of the first of all runtimes that has a device.
func Find(all []Runtime, runtime, choice string) (rt Runtime, d Device, failed error) {
	for _, rt := range all {
		if runtime != "" && runtime != rt.Name {
			continue
		}
		devices, err := rt.Devices()
		if err != nil {
			failed = errors.Join(failed, err)
			continue
		}
		d, err := Pick(devices, func(d Device) string { return d.Title }, choice)
		return rt, d, err
	}
	if runtime == "" {
		failed = fmt.Errorf("no runtime has a device:\n%w", failed)
	}
	return rt, d, failed
}

// CheckName refuses names of runtimes that are none.
func CheckName(name string) error {
	if name == "" || slices.Contains(Names, name) {
		return nil
	}
	return cli.Usagef("--runtime %s: want one of %s", name, strings.Join(Names, ", "))
}

// Run runs a program and checks it. A wrong number is not an error: wrong says what
// it is.
func Run(ctx context.Context, p programs.Program, m programs.Machine) (took time.Duration, wrong string, err error) {
	got, err := p.Run(ctx, m)
	if errors.Is(err, programs.ErrWrong) {
		return got.Total, err.Error(), nil
	}
	return got.Total, "", err
}

// Origin says where a program came from.
type Origin string

// The origins.
const (
	FromCompiler Origin = "compiled"
	FromDisk     Origin = "disk"
	FromMemory   Origin = "memory"
)

// From reads from what was counted where an answer came from.
func From(s stats.Snapshot) Origin {
	switch {
	case s[stats.Builds] > 0:
		return FromCompiler
	case s[stats.DiskHits] > 0:
		return FromDisk
	case s[stats.MemoryHits] > 0:
		return FromMemory
	}
	return ""
}

// captureWait bounds the wait for a capture: PoCL compiles each kernel again
// for it, which takes as long as the build did.
const captureWait = time.Minute

// AwaitStored waits until what was built since before is captured and stored,
// where the driver makes it wait for a launch, and given up where not.
func AwaitStored(ctx context.Context, cache *kernstash.Cache, before stats.Snapshot) error {
	for deadline := time.Now().Add(captureWait); time.Now().Before(deadline); {
		s := cache.Stats().Sub(before)
		if s[stats.DiskPuts]+s[stats.DiskPutsBettered]+s[stats.DiskPutsExisting] > 0 {
			return nil
		}
		if n := s[stats.CapturesDropped] + s[stats.DiskPutsDropped] + s[stats.DiskPutFailures]; n > 0 {
			return errors.New("compiled, but it could not be stored")
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(10 * time.Millisecond):
		}
	}
	return fmt.Errorf("compiled, but it was not stored within %v", captureWait)
}

// DevicesOf returns the devices of a runtime, each with how its machine is opened.
func DevicesOf[D any](all []D, err error, title func(D) string, open func(*kernstash.Cache, D) (*Machine, error)) (devices []Device, _ error) {
	for _, d := range all {
		devices = append(devices, Device{title(d), func(c *kernstash.Cache) (*Machine, error) { return open(c, d) }})
	}
	return devices, err
}

// BufferOf makes a buffer of a runtime's own, and of how that is written and read.
func BufferOf[B interface{ Release() error }](size int, b B, err error, write, read func(b B, offset int, p []byte) error) (*Buffer, error) {
	if err != nil {
		return nil, err
	}
	return &Buffer{b, size, func(p []byte) error { return write(b, 0, p) }, func(p []byte) error { return read(b, 0, p) }, b.Release}, nil
}

// ProgramOf makes a program of a runtime's own, and of how its kernels are launched.
func ProgramOf[P interface {
	Kernel(context.Context, string) (K, error)
	Release()
}, K interface{ Release() }](p P, err error, launch func(k K, global, local []int, args []any) error) (programs.Built, error) {
	if err != nil {
		return nil, err
	}
	return program{p.Release, func(name string, global, local []int, args []any) error {
		k, err := p.Kernel(context.Background(), name)
		if err != nil {
			return err
		}
		defer k.Release()
		return launch(k, global, local, args)
	}}, nil
}
