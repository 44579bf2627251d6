package programs

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// Program is one of the demonstration's programs: one kernel in several languages,
// input for it, and the answer that it must give.
type Program struct {
	Name    string // of the kernel too
	Title   string // for people
	Source  string // OpenCL C
	CUDA    string // CUDA C++
	SPIRV   []byte // of Source with Options
	Options string // build options of Source and of CUDA, with blanks between
	Global  []int  // global size
	Local   []int  // local size

	problem func() problem
}

// problem is one task for a program.
type problem struct {
	args   []Arg
	verify func(out [][]byte) (float64, error) // the outputs, in the order of args
}

// Arg is an argument of a kernel: exactly one of its fields is set.
type Arg struct {
	In     []byte // a buffer with this content
	Out    int    // a buffer of so many bytes that the kernel fills
	Scalar []byte // a value
}

// Machine is what builds and launches: one device of one runtime.
type Machine interface {
	// Buffer makes a buffer of size bytes that begins with content.
	Buffer(size int, content []byte) (Buffer, error)

	// Build returns the program, of the language that the machine builds. It is
	// what the demonstration is about: a machine may compile, or know the program
	// already.
	Build(ctx context.Context, p Program) (Built, error)
}

// Buffer is memory of the device.
type Buffer interface {
	// Read waits for what was launched and returns the content.
	Read() ([]byte, error)
	Release()
}

// Built is a program of a Machine.
type Built interface {
	// Launch enqueues a kernel. Local divides global. Args are Buffers, or bytes
	// for a value.
	Launch(kernel string, global, local []int, args ...any) error
	Release()
}

// Measurement is one run of a program.
type Measurement struct {
	Build time.Duration // until the program was there
	Total time.Duration // from the start of the build until its result was on the host
	Error float64       // the largest error, as a share of what is tolerated
}

// ErrWrong is wrapped when a program computed something else than it must.
var ErrWrong = errors.New("wrong result")

// Run builds the program, launches it once and checks the result. What the
// program reads is on the device before the clock starts.
func (p Program) Run(ctx context.Context, m Machine) (Measurement, error) {
	task := p.problem()
	args := make([]any, len(task.args))
	var outs []Buffer
	for i, a := range task.args {
		if a.Scalar != nil {
			args[i] = a.Scalar
			continue
		}
		buf, err := m.Buffer(max(a.Out, len(a.In)), a.In)
		if err != nil {
			return Measurement{}, fmt.Errorf("demo %s: argument %d: %w", p.Name, i, err)
		}
		defer buf.Release()
		args[i] = buf
		if a.Out > 0 {
			outs = append(outs, buf)
		}
	}

	start := time.Now()
	built, err := m.Build(ctx, p)
	if err != nil {
		return Measurement{}, fmt.Errorf("demo %s: %w", p.Name, err)
	}
	defer built.Release()
	got := Measurement{Build: time.Since(start)}
	if err := built.Launch(p.Name, p.Global, p.Local, args...); err != nil {
		return got, fmt.Errorf("demo %s: launch: %w", p.Name, err)
	}
	results := make([][]byte, len(outs))
	for i, buf := range outs {
		if results[i], err = buf.Read(); err != nil {
			return got, fmt.Errorf("demo %s: read result %d: %w", p.Name, i, err)
		}
	}
	got.Total = time.Since(start)

	got.Error, err = task.verify(results)
	if err == nil && !(got.Error <= 1) { // a NaN is wrong as well
		err = fmt.Errorf("error %.2g times what is tolerated", got.Error)
	}
	if err != nil {
		return got, fmt.Errorf("demo %s: %w: %w", p.Name, ErrWrong, err)
	}
	return got, nil
}
