package layer

import (
	"bytes"
	"errors"
	"fmt"

	"github.com/kernstash/kernstash/gpu/levelzero"
	"github.com/kernstash/kernstash/gpu/levelzero/internal/spirv"
	"github.com/kernstash/kernstash/internal/dl"
	"github.com/kernstash/kernstash/internal/drivers"
	"github.com/kernstash/kernstash/internal/engine"
	"github.com/kernstash/kernstash/internal/front"
	"github.com/kernstash/kernstash/internal/inprocess"
	"github.com/kernstash/kernstash/key"
	"github.com/kernstash/kernstash/store"
)

// Request is a module that an application makes of SPIR-V. It is read during the call
// that it is given to, and not kept: its bytes may be C's.
type Request struct {
	Queries   [len(levelzero.QueryNames)]uintptr // see levelzero.Entries
	Device    uintptr                            // ze_device_handle_t
	Modules   [][]byte                           // one, or several that are linked, in the application's order
	Flags     string
	Constants []Constant // of one module

	// Environ returns the environment that the drivers found when they were loaded; it is called at
	// most once for a device. Nil: not known, and that of the start of the process is taken for it.
	Environ func() []string
}

// Constant is a specialization constant: how large its value is the module says.
type Constant struct {
	ID uint32
	At uintptr // the address of the value
}

var (
	errRequest = errors.New("the request makes no sense")
	errImages  = errors.New("images")
	errUnknown = errors.New("a specialization constant that the module has not")
)

// engine returns the request as the engine's. Nothing of it is C's.
func (r *Request) engine() (engine.Request, error) {
	if r.Device == 0 || len(r.Modules) == 0 || len(r.Modules) > 1 && len(r.Constants) > 0 {
		return engine.Request{}, fmt.Errorf("%w: %d modules, %d constants", errRequest, len(r.Modules), len(r.Constants))
	}
	units := make([]key.Unit, len(r.Modules))
	for i, code := range r.Modules {
		units[i] = key.Unit{Kind: key.SPIRV, Code: code}
	}
	constants, err := r.read()
	if err != nil {
		return engine.Request{}, err
	}
	image, err := key.NewImageSet(units...)
	if err != nil {
		return engine.Request{}, err
	}
	own := engine.Request{Image: engine.NewImage(image), Constants: constants, CompileOptions: r.Flags}
	if len(r.Modules) > 1 {
		own.Attributes = levelzero.Order(image, r.Modules)
	}
	return own, nil
}

// read looks into the modules for what speaks against them, and for the sizes of the constants.
func (r *Request) read() ([]key.SpecConstant, error) {
	var constants []key.SpecConstant
	for _, code := range r.Modules {
		m, err := spirv.Read(code)
		if err != nil {
			return nil, err
		}
		if m.Images {
			// Of SPIR-V, the driver refuses images of formats that OpenCL has not as
			// arguments; of native code it takes them (NEO 22.43).
			return nil, errImages
		}
		for _, c := range r.Constants {
			size, ok := m.Constants[c.ID]
			if !ok || c.At == 0 {
				return nil, fmt.Errorf("%w: %d", errUnknown, c.ID)
			}
			constants = append(constants, key.SpecConstant{ID: c.ID, Value: bytes.Clone(dl.Bytes(c.At, size))})
		}
	}
	return constants, nil
}

// request returns what a message asks for, whose modules are C's.
func request(m front.Message) (*Request, error) {
	r := new(Request)
	var directories uint64
	for _, f := range m {
		switch f.Tag {
		case front.Function:
			if f.Detail >= uint32(len(r.Queries)) {
				return nil, f.Unexpected()
			}
			r.Queries[f.Detail] = f.Address()
		case front.Device:
			r.Device = f.Address()
		case front.Code:
			r.Modules = append(r.Modules, f.Data)
		case front.Options:
			r.Flags = f.Text()
		case front.Constant:
			r.Constants = append(r.Constants, Constant{ID: f.Detail, At: f.Address()})
		case front.Environment:
			r.Environ = f.Environ()
		case front.Directories:
			directories = f.Number
		default:
			return nil, f.Unexpected()
		}
	}
	drivers.IntelSettings.Saw(directories&front.Settings != 0, directories&front.Moved != 0)
	return r, nil
}

// outcome returns what a message says of a module, whose artifact is in memory of its own. One
// that makes no sense says nothing.
func outcome(result front.Message) (o inprocess.Outcome) {
	a := new(store.Artifact)
	var native []byte
	var unknown levelzero.UnknownNames
	for _, f := range result {
		switch f.Tag {
		case front.Ended:
			o.Result, o.Took = front.Result(f.Detail), f.Duration()
		case front.Status: // the driver's, which the application has seen
		case front.Binary:
			native = f.Data
		case front.Log:
			a.Log = f.Text()
		case front.Kernel:
			a.Kernels = append(a.Kernels, store.Kernel{Name: f.Text()})
		case front.Unknown:
			unknown[min(f.Detail, 1)] = levelzero.Result(f.Number)
		default:
			return inprocess.Outcome{}
		}
	}
	if o.Result != front.Built || len(native) == 0 {
		o.Made = func(*key.Recipe) engine.Outcome { return engine.Outcome{} }
		return o
	}
	a.Binaries = levelzero.Binaries(bytes.Clone(native), unknown)
	o.Made = func(*key.Recipe) engine.Outcome { return engine.Outcome{Artifact: a} }
	return o
}

// served returns a stored artifact as the interposer is told of it.
func served(a *store.Artifact) (front.Message, error) {
	native, unknown, err := levelzero.NativeOf(a)
	if err != nil {
		return nil, err
	}
	m := front.Message{
		{Tag: front.Binary, Data: native},
		{Tag: front.Log, Data: front.String(a.Log)},
	}
	for i, r := range unknown {
		m = append(m, front.Field{Tag: front.Unknown, Detail: uint32(i), Number: uint64(r)})
	}
	for _, k := range a.Kernels {
		m = append(m, front.Field{Tag: front.Kernel, Data: front.String(k.Name)})
	}
	return m, nil
}
