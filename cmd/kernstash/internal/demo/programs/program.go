package programs

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/kernstash/kernstash/gpu/tool"
)

// Program is one of the demonstration's programs: one kernel in several languages,
// input for it, and the answer that it must give.
type Program struct {
	tool.Code
	Title  string // for people
	Global []int  // global size
	Local  []int  // local size

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
	Buffer(size int, content []byte) (tool.Memory, error)

	// Build returns the program, of the language that the machine builds. It is
	// what the demonstration is about: a machine may compile, or know the program
	// already.
	Build(context.Context, tool.Code) (tool.Program, error)
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
	var outs []tool.Memory
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
	built, err := m.Build(ctx, p.Code)
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
