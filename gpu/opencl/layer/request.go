package layer

import (
	"bytes"
	"errors"
	"fmt"
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
)

// Request is a build that an application asks for. It is read during the call
// that it is given to, and not kept: its bytes may be C's.
type Request struct {
	What    What
	Driver  opencl.DriverEntries // its Environ is not looked at
	Devices []uintptr            // cl_device_id, in the application's order
	Units   []Unit
	Options *string // of clBuildProgram or clLinkProgram; nil is NULL

	// Environ returns the environment that the driver found when it was loaded; it
	// is called at most once for a driver. Nil: not known, and that of the start
	// of the process is taken for it.
	Environ func() []string

	// Thread is the caller's, by any number; 0: not known.
	Thread int
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
	Code     int           // the driver's, of Failed
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

var errRequest = errors.New("the request makes no sense")

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

// core returns the request as the engine's, with constants that may be C's. tells says that
// the driver tells no options from empty ones; known are the compiled units of a
// link, in the order of the request, nil for those that are not known.
func (r *Request) core(tells bool, known []*compiled, on *pool) (engine.Request, error) {
	if r.What != Build {
		return r.coreOfUnits(tells, known, on)
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
func (p *pool) repeatable(u *Unit, options string) (code []byte, checkFiles func([][]byte) error, err error) {
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

// errObserved is why a program with a constant of a random name is not compared: the name
// stands in Intel's binaries, beside the code.
var errObserved = errors.New("the source ends with a constant of a random name, which makes each binary another one")
