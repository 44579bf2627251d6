// Package programs holds a handful of programs that differ in what they compute and in
// what they cost to compile, each in OpenCL C, in CUDA C++ and in SPIR-V, and checks
// what they compute against Go each time they run.
//
// It knows no runtime: a [Machine] builds and launches for it.
package programs

import (
	"bytes"
	"context"
	"embed"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"time"

	"github.com/kernstash/kernstash"
	"github.com/kernstash/kernstash/gpu/tool"
	"github.com/kernstash/kernstash/key"
	"github.com/kernstash/kernstash/stats"
)

// Program is one kernel in several languages, input for it, and the answer that it must give.
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

	// Build compiles the program, in the language that it takes, or knows it already.
	Build(context.Context, tool.Code) (tool.Program, error)
}

// Run builds the program, launches it once and checks the result, with the time from the start
// of the build until that was on the host. What the program reads is on the device before the
// clock starts. A wrong result is not an error: wrong says what it is.
func (p Program) Run(ctx context.Context, m Machine) (took time.Duration, wrong string, err error) {
	defer func() {
		if err != nil {
			err = fmt.Errorf("demo %s: %w", p.Name, err)
		}
	}()
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
			return 0, "", fmt.Errorf("argument %d: %w", i, err)
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
		return 0, "", err
	}
	defer built.Release()
	if err := built.Launch(p.Name, p.Global, p.Local, args...); err != nil {
		return 0, "", fmt.Errorf("launch: %w", err)
	}
	results := make([][]byte, len(outs))
	for i, buf := range outs {
		if results[i], err = buf.Read(); err != nil {
			return 0, "", fmt.Errorf("read result %d: %w", i, err)
		}
	}
	took = time.Since(start)

	switch worst, err := task.verify(results); {
	case err != nil:
		wrong = fmt.Sprintf("demo %s: wrong result: %v", p.Name, err)
	case !(worst <= 1): // a NaN is wrong as well
		wrong = fmt.Sprintf("demo %s: wrong result: error %.2g times what is tolerated", p.Name, worst)
	}
	return took, wrong, nil
}

// Fresh returns a program that differs from p in nothing but its text: with another
// mark, which is one line, it is another program to everyone who keeps programs.
func (p Program) Fresh(mark string) Program {
	texts := make(map[key.Kind][]byte)
	for kind, text := range p.Texts {
		texts[kind] = fmt.Appendf(nil, "// %s\n%s", mark, text)
	}
	// The third word of a module says what tool made it, and means nothing else.
	module := bytes.Clone(p.Texts[key.SPIRV])
	binary.LittleEndian.PutUint32(module[8:], crc32.ChecksumIEEE([]byte(mark)))
	texts[key.SPIRV] = module
	p.Texts = texts
	return p
}

//go:embed kernels/*.cl kernels/*.cu kernels/*.spv
var kernels embed.FS

// languages are those of the programs, with what the names of files end in.
var languages = map[key.Kind]string{key.OpenCLC: ".cl", key.CUDACpp: ".cu", key.SPIRV: ".spv"}

// All returns the programs, cheap ones first.
func All() []Program {
	nbodyOptions := fmt.Sprintf("-DN=%d -DSOFTENING=%gf -DSTEP=%gf", nbodyN, nbodySoftening, nbodyStep)
	return []Program{
		newProgram("vadd", "vector add", "", []int{256}, []int{64}, vadd),
		newProgram("reduce", "reduction", "", []int{reduceGroup * reduceGroups}, []int{reduceGroup}, reduce),
		newProgram("nbody", "n-body step", nbodyOptions, []int{nbodyN}, []int{128}, nbody),
		newProgram("fft", "FFT of 1024 points, radix 4", "", []int{fftGroup * fftSignals}, []int{fftGroup}, fft),
		newProgram("matmul", "tiled matrix product", fmt.Sprintf("-DN=%d", matmulN), []int{matmulN / 4, matmulN / 4}, []int{8, 8}, matmul),
		newProgram("sha256d", "SHA-256 twice, unrolled", "", []int{shaMessages}, []int{64}, sha256d),
	}
}

// Warm returns a program to start a compiler with: none of All, and trivial.
func Warm() Program {
	return newProgram("warm", "start of the compiler", "", []int{warmN}, []int{warmN}, warm)
}

// newProgram returns a program, with its sources from where its name says they are.
func newProgram(name, title, options string, global, local []int, problem func() problem) Program {
	texts := make(map[key.Kind][]byte)
	for kind, ending := range languages {
		b, err := kernels.ReadFile("kernels/" + name + ending)
		if err != nil {
			panic(err) // a program without it cannot be committed: its test fails
		}
		texts[kind] = b
	}
	return Program{tool.Code{Name: name, Options: options, Texts: texts}, title, global, local, problem}
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

// captureWait bounds the wait for a capture, for which PoCL compiles each kernel again.
const captureWait = time.Minute

// AwaitStored waits until what was built since before is captured and stored,
// where the driver makes it wait for a launch, and given up where not.
func AwaitStored(ctx context.Context, cache *kernstash.Cache, before stats.Snapshot) error {
	late := time.After(captureWait)
	for {
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
		case <-late:
			return fmt.Errorf("compiled, but it was not stored within %v", captureWait)
		case <-time.After(10 * time.Millisecond):
		}
	}
}
