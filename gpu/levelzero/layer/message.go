package layer

import (
	"bytes"

	"github.com/kernstash/kernstash/gpu/levelzero"
	"github.com/kernstash/kernstash/internal/drivers"
	"github.com/kernstash/kernstash/internal/engine"
	"github.com/kernstash/kernstash/internal/front"
	"github.com/kernstash/kernstash/internal/inprocess"
	"github.com/kernstash/kernstash/key"
	"github.com/kernstash/kernstash/store"
)

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
	a.Binaries, a.Cost = levelzero.Binaries(bytes.Clone(native), unknown), o.Took
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
