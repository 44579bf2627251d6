package rtc

import (
	"bytes"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"sync"
	"unsafe"

	"github.com/kernstash/kernstash"
	"github.com/kernstash/kernstash/internal/dl"
	"github.com/kernstash/kernstash/internal/reentry"
)

// The codes that NVRTC and HIPRTC have in common.
const (
	codeOutOfMemory   = 1
	codeInvalidOption = 5
	codeCompilation   = 6
)

// maxAnswer bounds what a library says the size of an answer is.
const maxAnswer = 1 << 31

var errSize = errors.New("the library tells a size that makes no sense")

// Compile compiles, in the library, and returns all that it made. A program, or options, that the
// compiler refuses are a *kernstash.BuildError with its log; any other error wraps a *Error, and
// kernstash.ErrOutOfResources where there was no memory.
func (l *Library) Compile(r Request) (*Output, error) {
	if one := &oneAtATime[l.api]; l.api != NVRTC {
		one.Lock()
		defer one.Unlock()
	}
	if l.d.links {
		return l.link(r)
	}
	p, err := l.create(r)
	if err != nil {
		return nil, fmt.Errorf("create program: %w", err)
	}
	defer p.destroy()
	if err := p.addExpressions(r.Expressions); err != nil {
		return nil, err
	}
	if err := p.compile(r.Options); err != nil {
		return nil, err
	}
	return p.output(r.Expressions)
}

// oneAtATime lets one compile at a time: HIPRTC 5.2 crashes where two overlap, and nvJitLink 12.4 leaks memory.
var oneAtATime [len(dialects)]sync.Mutex

// stepAside has the interposer take no notice of the programs that this thread creates.
var stepAside = reentry.Of("kernstash_rtc_aside", "libkernstash_preload.so")

// program is a program of the library's.
type program struct {
	l      *Library
	handle uintptr
}

func (l *Library) create(r Request) (*program, error) {
	var pin runtime.Pinner
	defer pin.Unpin()
	names, contents := make([]string, len(r.Headers)), make([]string, len(r.Headers))
	for i, h := range r.Headers {
		names[i], contents[i] = h.Name, string(h.Content)
	}
	includes, headers := pointers(&pin, names), pointers(&pin, contents)
	source := dl.CString(string(r.Source))
	var name uintptr
	if r.Name != "" {
		name = uintptr(pointers(&pin, []string{r.Name})[0])
	}
	p := &program{l: l}
	defer stepAside()()
	code := call(l.fn("CreateProgram"), uintptr(unsafe.Pointer(&p.handle)), uintptr(unsafe.Pointer(&source[0])), name,
		uintptr(len(r.Headers)), uintptr(unsafe.Pointer(&headers[0])), uintptr(unsafe.Pointer(&includes[0])))
	if code != 0 {
		return nil, l.resources(code)
	}
	return p, nil
}

func (p *program) destroy() { call(p.l.fn("DestroyProgram"), uintptr(unsafe.Pointer(&p.handle))) }

func (p *program) addExpressions(all []string) error {
	if len(all) == 0 {
		return nil
	}
	if p.l.fn("AddNameExpression") == 0 || p.l.fn("GetLoweredName") == 0 {
		return fmt.Errorf("name expressions: %w", ErrMissing)
	}
	for _, e := range all {
		c := dl.CString(e)
		if code := call(p.l.fn("AddNameExpression"), p.handle, uintptr(unsafe.Pointer(&c[0]))); code != 0 {
			return fmt.Errorf("name expression %q: %w", e, p.l.resources(code))
		}
	}
	return nil
}

func (p *program) compile(options []string) error {
	var pin runtime.Pinner
	defer pin.Unpin()
	list := pointers(&pin, options)
	if p.l.api == NVRTC && p.l.major >= 12 {
		compiling(p.l.fn("CompileProgram"), options)
	}
	return p.failed(call(p.l.fn("CompileProgram"), p.handle, uintptr(len(options)), uintptr(unsafe.Pointer(&list[0]))))
}

// failed returns the error of a code of a compile, or nil.
func (p *program) failed(code int) error {
	if code == 0 {
		return nil
	}
	err := p.l.resources(code)
	if slices.Contains(p.l.d.refusals, code) {
		log, _ := p.answer("ProgramLog")
		other, _ := p.answer(formFunctions[ErrorLog])
		return &kernstash.BuildError{Code: code, Log: logText(log.Data) + logText(other.Data), Err: err}
	}
	return fmt.Errorf("compile program: %w", err)
}

// resources is failure, which wraps kernstash.ErrOutOfResources where memory ran out.
func (l *Library) resources(code int) error {
	err := l.failure(code)
	if code == codeOutOfMemory && l.api != NVJitLink {
		return fmt.Errorf("%w: %w", kernstash.ErrOutOfResources, err)
	}
	return err
}

// answer asks for the size of something, and for the bytes.
func (p *program) answer(name string) (a Answer, err error) {
	size, get := p.l.fn("Get"+name+"Size"), p.l.fn("Get"+name)
	if size == 0 || get == 0 {
		return a, nil
	}
	a.Asked = true
	var n uintptr
	if a.Code = call(size, p.handle, uintptr(unsafe.Pointer(&n))); a.Code != 0 || n == 0 {
		return a, nil
	}
	if n > maxAnswer {
		return a, fmt.Errorf("%s: %w", name, errSize)
	}
	a.Data = make([]byte, n)
	if a.Code = call(get, p.handle, uintptr(unsafe.Pointer(&a.Data[0]))); a.Code != 0 {
		a.Data = nil
	}
	return a, nil
}

// output takes what a compile made.
func (p *program) output(expressions []string) (o *Output, err error) {
	o = new(Output)
	if o.log, err = p.answer("ProgramLog"); err != nil {
		return nil, err
	}
	for f, name := range formFunctions {
		if o.forms[f], err = p.answer(name); err != nil {
			return nil, err
		}
	}
	for _, e := range expressions {
		o.lowered = append(o.lowered, p.lowered(e))
	}
	return o, nil
}

func (p *program) lowered(expression string) Lowered {
	c := dl.CString(expression)
	var name uintptr
	l := Lowered{Expression: expression}
	l.Code = call(p.l.fn("GetLoweredName"), p.handle, uintptr(unsafe.Pointer(&c[0])), uintptr(unsafe.Pointer(&name)))
	if l.Code == 0 {
		l.Name = dl.String(name)
	}
	return l
}

// errAdding is said of a request that only an interposer can make.
var errAdding = errors.New("what comes of adding an input is not made by itself")

// link compiles a request with inputs, of which nvJitLink makes machine code and libnvvm PTX.
func (l *Library) link(r Request) (*Output, error) {
	if r.Adding {
		return nil, errAdding
	}
	runtime.LockOSThread() // nvJitLink 12.4 crashes at times where a program goes from thread to thread
	defer runtime.UnlockOSThread()
	var pin runtime.Pinner
	defer pin.Unpin()
	list := pointers(&pin, r.Options)
	p := &program{l: l}
	create := func() int {
		defer stepAside()()
		return call(l.fn("CreateProgram"), uintptr(unsafe.Pointer(&p.handle)), uintptr(len(r.Options)), uintptr(unsafe.Pointer(&list[0])))
	}
	if code := create(); code != 0 {
		return nil, fmt.Errorf("create program: %w", l.resources(code))
	}
	defer p.destroy()
	for _, in := range r.Inputs {
		if err := p.failed(p.add(&pin, in)); err != nil {
			return nil, err
		}
	}
	if err := p.failed(call(l.fn("CompileProgram"), p.handle, uintptr(len(r.Options)), uintptr(unsafe.Pointer(&list[0])))); err != nil {
		return nil, err
	}
	return p.output(nil)
}

// add gives the program an input.
func (p *program) add(pin *runtime.Pinner, in Input) int {
	var name uintptr
	if in.Named {
		name = uintptr(pointers(pin, []string{in.Name})[0])
	}
	code := append(bytes.Clone(in.Code), 0) // with the NUL that nvJitLink looks for
	data, size := uintptr(unsafe.Pointer(&code[0])), uintptr(len(in.Code))
	pin.Pin(&code[0])
	switch {
	case p.l.api == NVJitLink:
		return call(p.l.fn("AddData"), p.handle, uintptr(in.Kind), data, size, name)
	case in.Too:
		return call(p.l.fn("LazyAddModuleToProgram"), p.handle, data, size, name)
	}
	return call(p.l.fn("AddModuleToProgram"), p.handle, data, size, name)
}
