package layer

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/kernstash/kernstash/gpu/opencl"
	"github.com/kernstash/kernstash/internal/engine"
	"github.com/kernstash/kernstash/internal/front"
	"github.com/kernstash/kernstash/key"
	"github.com/kernstash/kernstash/store"
)

// What is to happen to the units of a request.
type What uint32

// The kinds of request, with the numbers of shim/opencl/src/shim.h.
const (
	Build   What = 1 // clBuildProgram of one unit
	Link    What = 2 // clLinkProgram of units that are all known
	Compile What = 3 // clCompileProgram of one unit: is it known to succeed?

	answerOf = 4 // none: the answer of a program is asked for
)

// Request is a build that an application asks for. It is read during the call
// that it is given to, and not kept: its bytes may be C's.
type Request struct {
	What    What
	Driver  opencl.DriverEntries // its Environ is not looked at
	Devices []uintptr            // cl_device_id, in the application's order
	Units   []Unit
	Options *string // of clBuildProgram or clLinkProgram; nil is NULL

	// Environ returns the environment that the driver found when it was loaded; it is called at
	// most once for a driver. Nil: not known, and that of the start of the process is taken for it.
	Environ func() []string

	Thread int // the caller's, by any number; 0: not known
}

// Unit is what one program object was made of.
type Unit struct {
	Kind      key.Kind
	Strings   [][]byte // one after the other they are the code
	Headers   []key.Header
	Constants []key.SpecConstant
	Options   *string // of clCompileProgram; nil is NULL
	Compiled  uint64  // of a Link: what the Compile's Done calls it; 0: nothing
}

// Artifact is one device's part of a program.
type Artifact struct {
	Binary  []byte // what to restore from, or what was built; empty: there is none
	Answer  []byte // what CL_PROGRAM_BINARIES answers where that is another form
	Unread  int64  // bytes of the answer where the layer has to be asked for it; else 0
	Log     string
	Kernels []store.Kernel
	Kind    opencl.Kind // Deferred also where nobody wants a binary
}

// Outcome is how it ended for one device. Its bytes may be C's.
type Outcome struct {
	Result   front.Result
	Took     time.Duration // the driver, for this
	Artifact Artifact      // of Built, Failed
	unnamed  bool          // the driver does not name the arguments of the last kernel
}

// The bounds of a request.
const (
	maxDevices = 64
	maxUnits   = 256
	maxCode    = 1 << 30 // bytes
)

// Why the engine is not asked about a request.
var (
	errRequest = errors.New("the request makes no sense")

	// A constant's name stands in Intel's binaries, beside the code: they cannot be compared.
	errObserved = errors.New("the source ends with a constant of a random name, which makes each binary another one")

	// Of units that are compiled each, and then linked: a key has one list of options for all, and
	// which files one read is known only of those that were compiled under the layer.
	errMixed         = errors.New("units with different options")
	errFiles         = errors.New("units that read header files, and were compiled nobody knows how")
	errLibraryOption = errors.New("options that make a library")
	errRandomUnit    = errors.New("a unit that ends with a constant of a random name, which what it is linked with could mean")
)

func (r *Request) check() error {
	switch {
	case r.Driver.Platform == 0 || r.Driver.GetPlatformInfo == 0 || r.Driver.GetDeviceInfo == 0:
		return fmt.Errorf("%w: a driver without entry points", errRequest)
	case len(r.Devices) == 0 || len(r.Devices) > maxDevices:
		return fmt.Errorf("%w: %d devices", errRequest, len(r.Devices))
	case len(r.Units) == 0 || len(r.Units) > maxUnits:
		return fmt.Errorf("%w: %d units", errRequest, len(r.Units))
	case r.What == Link:
	case r.What != Build && r.What != Compile || len(r.Units) != 1:
		return fmt.Errorf("%w: kind %d of %d units", errRequest, r.What, len(r.Units))
	}
	size := 0
	for _, u := range r.Units {
		for _, s := range u.Strings {
			if size += len(s); size > maxCode {
				return fmt.Errorf("%w: more than %d bytes", errRequest, maxCode)
			}
		}
	}
	return nil
}

// code returns the unit's code, in memory of its own if it is in pieces.
func (u *Unit) code() []byte {
	if len(u.Strings) == 1 {
		return u.Strings[0]
	}
	return bytes.Join(u.Strings, nil)
}

// text is what a string that may be NULL says.
func text(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}

// core returns the request as the engine's, with constants that may be C's.
func (r *Request) core(on *deviceContext, known *programs) (engine.Request, error) {
	tells := on.devices[0].TellsNoOptions() // no options from empty ones
	if r.What != Build {
		return r.coreOfUnits(tells, on, known)
	}
	u := &r.Units[0]
	code, checkFiles, err := on.repeatable(u, text(r.Options))
	if err != nil {
		return engine.Request{}, err
	}
	content, err := key.NewImage(u.Kind, code, u.Headers...)
	if err != nil {
		return engine.Request{}, err
	}
	image := engine.NewImage(content)
	image.CheckFiles = checkFiles
	return engine.Request{
		Image: image, Constants: u.Constants,
		CompileOptions: text(r.Options), NoOptions: r.Options == nil && tells,
	}, nil
}

// repeatable returns the code of a unit that is built with options, without what is random in
// it and means nothing; checkFiles, which may be nil, checks that of the files that it includes.
// It is an error where that may mean something: then nothing is kept of the program, which
// nobody asks for again.
func (p *deviceContext) repeatable(u *Unit, options string) (code []byte, checkFiles func([][]byte) error, err error) {
	code = u.code()
	if u.Kind != key.OpenCLC || !opencl.EndsWithRandomName(code) {
		return code, nil, nil
	}
	var rest []byte
	for i, d := range p.devices {
		if rest, checkFiles, err = d.Repeatable(code, key.Tokens(options)); err != nil {
			return nil, nil, err
		}
		if p.observes && p.kind(i) == opencl.Final {
			return nil, nil, errObserved
		}
	}
	return rest, checkFiles, nil
}

// coreOfUnits is core of a request to link units, or to compile one.
func (r *Request) coreOfUnits(tells bool, on *deviceContext, known *programs) (engine.Request, error) {
	first := &r.Units[0]
	out := engine.Request{
		Constants: first.Constants, CompileOptions: text(first.Options),
		NoOptions: first.Options == nil && tells,
	}
	if r.What == Link {
		out.LinkOptions, out.NoLinkOptions = text(r.Options), r.Options == nil && tells
	}
	for _, w := range key.Tokens(out.LinkOptions) {
		if w == "-create-library" || w == "-enable-link-options" {
			return out, errLibraryOption
		}
	}
	units := make([]key.Unit, len(r.Units))
	var read []*compiled // those that read header files, of a link
	for i := range r.Units {
		u := &r.Units[i]
		if !slices.Equal(key.Tokens(text(u.Options)), key.Tokens(text(first.Options))) || (u.Options == nil) != (first.Options == nil) && tells {
			return out, errMixed
		}
		if !equalConstants(u.Constants, first.Constants) {
			return out, fmt.Errorf("%w: constants", errMixed)
		}
		units[i] = key.Unit{Kind: u.Kind, Code: u.code(), Headers: u.Headers}
		if u.Kind == key.OpenCLC && opencl.EndsWithRandomName(units[i].Code) {
			return out, errRandomUnit
		}
		if c := known.find(u.Compiled).compiled; c != nil {
			read = append(read, c)
		}
	}
	if r.What == Compile {
		image, err := key.NewImageSet(units...)
		if err == nil {
			out.Image = engine.NewImage(image)
		}
		return out, err
	}
	image, err := key.NewImageSequence(units...)
	if err != nil {
		return out, err
	}
	out.Image = engine.NewCompiledImage(image, on.compiledUnits(read))
	if out.Image.ReadsFiles() && len(read) == 0 {
		err = errFiles
	}
	return out, err
}

// equalConstants reports whether two lists say the same.
func equalConstants(a, b []key.SpecConstant) bool {
	sorted := func(c []key.SpecConstant) []key.SpecConstant {
		return slices.SortedStableFunc(slices.Values(c), func(a, b key.SpecConstant) int { return cmp.Compare(a.ID, b.ID) })
	}
	return slices.EqualFunc(sorted(a), sorted(b), func(a, b key.SpecConstant) bool {
		return a.ID == b.ID && bytes.Equal(a.Value, b.Value)
	})
}

// compiles is what is stored for a unit that is known to compile, and of which
// nothing else is needed. Of one that reads header files it is what the compiler
// made: it cannot be compiled later, when they may be others.
var compiles = []byte{1}
