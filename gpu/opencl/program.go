package opencl

import (
	"errors"
	"fmt"
	"strings"

	"github.com/kernstash/kernstash"
	"github.com/kernstash/kernstash/gpu/opencl/internal/cl"
	"github.com/kernstash/kernstash/gpu/opencl/internal/driver"
	"github.com/kernstash/kernstash/key"
	"github.com/kernstash/kernstash/store"
)

// Program is a built cl_program for one device of a context, or for several equal ones.
type Program struct {
	devices []*Device // what it is built for
	log     string
	defers  driver.Deferrer // its driver, if that makes code at launches
	object
}

// Log returns the build log, warnings included.
func (p *Program) Log() string { return p.log }

// KernelNames returns the names of the program's kernels in the driver's order.
func (p *Program) KernelNames() ([]string, error) {
	h, err := p.get()
	if err != nil {
		return nil, fmt.Errorf("list kernels: %w", err)
	}
	b, err := cl.Info("clGetProgramInfo", cl.ProgramKernelNames, h)
	if err != nil {
		return nil, fmt.Errorf("list kernels: %w", err)
	}
	names := cl.Text(b, nil)
	if names == "" {
		return nil, nil
	}
	return strings.Split(names, ";"), nil
}

// Binary returns the driver's binary of the program; empty where there is none. On a driver that
// makes code at launches (PoCL) the first call compiles every kernel in a generic form, blocks all
// launches of the process meanwhile, and fixes the answer for the life of the program. It waits
// there until nothing is under way on the queues of this package; where launches follow each other
// without a pause for a second, the error wraps kernstash.ErrBusy.
func (p *Program) Binary() (binary []byte, err error) {
	var h uintptr
	if p.defers != nil {
		binary, err = p.defers.Binary(p.asked())
	} else if h, err = p.get(); err == nil {
		binary, err = cl.GetProgramBinary(cl.ProgramID(h), p.devices[0].id())
	}
	if err != nil {
		return nil, fmt.Errorf("get binary: %w", resources(err))
	}
	return binary, nil
}

// asked returns the program as the driver is asked about it.
func (p *Program) asked() driver.Program {
	return driver.Program{
		Device: p.devices[0].id(),
		ID: func() (cl.ProgramID, error) {
			h, err := p.get()
			return cl.ProgramID(h), err
		},
	}
}

// describe returns the program's kernels with what the driver tells of their
// arguments, which is nothing where it was not compiled to tell.
func (p *Program) describe() ([]store.Kernel, error) {
	h, err := p.get()
	if err != nil {
		return nil, err
	}
	kernels, err := driver.Kernels(cl.ProgramID(h))
	return kernels, resources(err)
}

// compilation builds one recipe for some devices of a context.
type compilation struct {
	context cl.ContextID
	devices []cl.DeviceID
	recipe  *key.Recipe
	noIL    bool // the devices say that they take no SPIR-V
}

// run returns the built program and its log. One unit without headers and link options is built in
// one call, as most applications do; drivers are at their best there. Everything else is compiled
// unit by unit, and linked; so is a sequence of one unit, of which some drivers make other code.
func (b *compilation) run() (cl.ProgramID, string, error) {
	if !isBuild(b.recipe) {
		return b.compileAndLink()
	}
	p, err := b.create(b.recipe.Image.Units()[0])
	if err != nil {
		return 0, "", err
	}
	return b.finish(p, cl.BuildProgram(p, b.devices, compileOptions(b.recipe)))
}

// isBuild reports whether clBuildProgram makes the program, of one source.
func isBuild(r *key.Recipe) bool {
	units := r.Image.Units()
	return len(units) == 1 && len(units[0].Headers) == 0 && len(r.Options.Link) == 0 && !r.Image.IsSequence()
}

// finish reads the log, always, and releases a program that failed.
func (b *compilation) finish(p cl.ProgramID, err error) (cl.ProgramID, string, error) {
	log := cl.Text(cl.Info("clGetProgramBuildInfo", cl.ProgramBuildLog, uintptr(p), uintptr(b.devices[0])))
	if err != nil {
		_ = cl.Status("clReleaseProgram", uintptr(p))
		return 0, log, diagnose(err, log)
	}
	return p, log, nil
}

// errNoIL is wrapped where a device takes no SPIR-V.
var errNoIL = errors.New("the device takes no SPIR-V")

// create makes the unbuilt program of a unit, its constants set.
func (b *compilation) create(u key.Unit) (cl.ProgramID, error) {
	switch u.Kind {
	case key.OpenCLC:
		p, err := cl.CreateProgramWithSource(b.context, u.Code)
		if err != nil {
			return 0, fmt.Errorf("create program: %w", diagnose(err, ""))
		}
		return p, nil
	case key.SPIRV:
	default:
		return 0, fmt.Errorf("create program: %w: OpenCL builds no %v", ErrArgument, u.Kind)
	}
	p, err := cl.CreateProgramWithIL(b.context, u.Code)
	if err != nil && b.noIL {
		// CL_INVALID_OPERATION by the specification, CL_INVALID_VALUE by PoCL 3.1.
		return 0, &kernstash.BuildError{Code: int(InvalidOperation), Err: fmt.Errorf("%w: %w", errNoIL, err)}
	}
	if err != nil {
		return 0, fmt.Errorf("create program: %w", diagnose(err, ""))
	}
	for _, c := range b.recipe.Constants {
		err := cl.Status("clSetProgramSpecializationConstant", uintptr(p), uintptr(c.ID), uintptr(len(c.Value)), uintptr(cl.Addr(c.Value)))
		if err == nil || errors.Is(err, InvalidSpecID) && len(b.recipe.Image.Units()) > 1 {
			continue // another unit's constant
		}
		_ = cl.Status("clReleaseProgram", uintptr(p))
		return 0, fmt.Errorf("specialization constant %d: %w", c.ID, diagnose(err, ""))
	}
	return p, nil
}

func (b *compilation) compileAndLink() (cl.ProgramID, string, error) {
	var compiled []cl.ProgramID
	defer func() { release(compiled) }()
	var logs string
	for _, u := range b.recipe.Image.Units() {
		p, log, err := b.compileUnit(u)
		logs += log
		if err != nil {
			return 0, logs, err
		}
		compiled = append(compiled, p)
	}
	var link *string // C's NULL, where the caller gave none at all
	if o := b.recipe.Options; !o.LinkAbsent || len(o.Link) > 0 {
		s := o.LinkString()
		link = &s
	}
	p, err := cl.LinkProgram(b.context, b.devices, link, compiled)
	if p == 0 {
		return 0, logs, diagnose(err, logs)
	}
	p, log, err := b.finish(p, err)
	return p, logs + log, err
}

func (b *compilation) compileUnit(u key.Unit) (cl.ProgramID, string, error) {
	p, err := b.create(u)
	if err != nil {
		return 0, "", err
	}
	var headers []cl.ProgramID
	var names []string
	defer func() { release(headers) }()
	for _, h := range u.Headers {
		content := h.Content
		if len(content) == 0 {
			content = []byte("\n") // some drivers refuse an empty source (CL_INVALID_VALUE)
		}
		hp, err := cl.CreateProgramWithSource(b.context, content)
		if err != nil {
			_ = cl.Status("clReleaseProgram", uintptr(p))
			return 0, "", fmt.Errorf("header %s: %w", h.Name, diagnose(err, ""))
		}
		headers, names = append(headers, hp), append(names, h.Name)
	}
	return b.finish(p, cl.CompileProgram(p, b.devices, compileOptions(b.recipe), headers, names))
}

// compileOptions returns nil, C's NULL, where the caller gave none at all.
func compileOptions(r *key.Recipe) *string {
	if o := r.Options; !o.Absent || len(o.Compile)+len(o.Search) > 0 {
		s := o.CompileString()
		return &s
	}
	return nil
}

func release(programs []cl.ProgramID) {
	for _, p := range programs {
		_ = cl.Status("clReleaseProgram", uintptr(p))
	}
}

// verdicts are the codes by which a compiler refuses a program: building it again gives them again.
var verdicts = []Code{
	BuildProgramFailure, CompileProgramFailure, LinkProgramFailure, InvalidBuildOptions,
	InvalidCompilerOptions, InvalidLinkerOptions, InvalidSpecID, InvalidValue, InvalidBinary,
}

// diagnose makes the compiler's verdict a *kernstash.BuildError; every other
// failure stays what it is.
func diagnose(err error, log string) error {
	for _, c := range verdicts {
		if errors.Is(err, c) {
			return &kernstash.BuildError{Code: int(c), Log: log, Err: err}
		}
	}
	return resources(err)
}
