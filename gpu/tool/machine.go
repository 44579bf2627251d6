package tool

import (
	"context"
	"errors"
	"slices"

	"github.com/kernstash/kernstash/key"
)

// Code is a program with one kernel, which has the program's name, in several languages.
type Code struct {
	Name    string
	Options string // for sources, with blanks between
	Texts   map[key.Kind][]byte
}

// Memory is memory of a device.
type Memory interface {
	// Read waits for what was launched and returns the content.
	Read() ([]byte, error)
	Release()
}

// Program is a program that can be launched.
type Program interface {
	// Launch enqueues a kernel. Local divides global. Args are Memories, or bytes for a value.
	Launch(kernel string, global, local []int, args ...any) error
	Release()
}

// Machine runs programs on a device, over a cache.
type Machine struct {
	NewBuffer  func(size int) (*Buffer, error)
	NewProgram func(context.Context, Code) (Program, error)
	Close      func() error
}

// Buffer is the Memory of a Machine.
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
func (m *Machine) Buffer(size int, content []byte) (Memory, error) {
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
func (m *Machine) Build(ctx context.Context, c Code) (Program, error) { return m.NewProgram(ctx, c) }

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
}, K interface{ Release() }](p P, err error, launch func(k K, global, local []int, args []any) error) (Program, error) {
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

// Groups returns how many groups of a local size make up a global one.
func Groups(global, local []int) []int {
	n := make([]int, len(global))
	for i := range global {
		n[i] = global[i] / local[i]
	}
	return n
}
