package layer

import (
	"bytes"
	"errors"
	"fmt"

	"github.com/kernstash/kernstash/gpu/levelzero"
	"github.com/kernstash/kernstash/gpu/levelzero/internal/spirv"
	"github.com/kernstash/kernstash/internal/dl"
	"github.com/kernstash/kernstash/internal/engine"
	"github.com/kernstash/kernstash/key"
)

// Request is a module that an application makes of SPIR-V. It is read during the call
// that it is given to, and not kept: its bytes may be C's.
type Request struct {
	Queries   [len(levelzero.QueryNames)]uintptr // see levelzero.Entries
	Device    uintptr                            // ze_device_handle_t
	Modules   [][]byte                           // one, or several that are linked, in the application's order
	Flags     string
	Constants []Constant // of one module

	// Environ returns the environment that the drivers found when they were loaded; it
	// is called at most once for a device. Nil: not known, and that of the start of the
	// process is taken for it.
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

// read looks into the modules for what speaks against them, and for the sizes of the
// constants.
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
