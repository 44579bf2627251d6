package layer

import (
	"cmp"
	"sync"
	"time"
	"unsafe"

	"github.com/kernstash/kernstash/gpu/opencl"
	"github.com/kernstash/kernstash/internal/dl"
	environment "github.com/kernstash/kernstash/internal/drivers"
	"github.com/kernstash/kernstash/internal/engine"
	"github.com/kernstash/kernstash/internal/front"
	"github.com/kernstash/kernstash/internal/inprocess"
	"github.com/kernstash/kernstash/internal/runlog"
	"github.com/kernstash/kernstash/key"
	"github.com/kernstash/kernstash/reason"
	"github.com/kernstash/kernstash/stats"
	"github.com/kernstash/kernstash/store"
)

// Begin implements [front.Adapter]. What is to happen has the numbers of [What].
func (l *Layer) Begin(r *front.Request) (front.Session, front.Step, bool) {
	if r.What == answerOf {
		return nil, l.answer(r.Message), true
	}
	var t *ticket
	own, err := request(r)
	if err == nil {
		t, err = l.ticket(own)
	}
	if err != nil {
		l.Pass(whyPassed(err), err.Error())
		return nil, front.Step{}, true
	}
	step, ok := t.first()
	return t, step, ok
}

// answer gives the binary that CL_PROGRAM_BINARIES answers for the device at a place of a
// request, of a program whose artifact there was given with its answer unread. With Pass it is
// gone from the cache, and the driver has to build the program to be asked.
func (l *Layer) answer(m front.Message) front.Step {
	var program, device uint64
	for _, f := range m {
		switch f.Tag {
		case front.Unit:
			program = f.Number
		case front.Device:
			device = f.Number
		}
	}
	if code := l.programs.find(program).answers.read(l.Cache.Engine(), int(min(device, maxDevices))); len(code) > 0 {
		return front.Step{Action: front.Hit, Message: front.Message{{Tag: front.Binary, Data: code}}}
	}
	return front.Step{}
}

var startEnvironment = sync.OnceValue(inprocess.StartEnvironment)

// Tell implements [front.Adapter].
func (l *Layer) Tell(_ uint32, event front.Message) {
	if len(event) == 0 {
		return
	}
	switch f := event[0]; f.Tag {
	case front.Passed: // by the layer in C, for a reason
		l.Pass(cmp.Or(passedReasons[f.Text()], reason.PassedOther), f.Text())
	case front.Released: // a program, or a compiled unit
		l.programs.remove(f.Number)
	case front.Compiles:
		// Asked or not: what is in the environment now may hold for all that the driver's compiler
		// compiles later.
		opencl.LookAtVariables(startEnvironment(), dl.Environ())
	case front.CompiledLate:
		// The driver has compiled a unit after all whose compilation had been found, and skipped;
		// what was counted as saved by that was not.
		var saved time.Duration
		if len(event) > 1 {
			saved = event[1].Duration()
		}
		l.Cache.Count(stats.SavedTime, -int64(saved))
		l.compiledAnyway(key.Key{}, "a compiled unit", f.Duration(), -saved)
	case front.Launched:
		l.launched(f, event[1:])
	}
}

// passedReasons are the details that have a reason of their own.
var passedReasons = map[string]reason.Reason{
	runlog.ReasonBinary:      reason.PassedBinary,
	"link of unknown inputs": reason.PassedInputs,
	"side effects":           reason.PassedOptions,
	"library":                reason.PassedOptions,
}

// launched takes a launch of a kernel of a program: of each of 1 to 3 dimensions the offset, the
// global size and the local size. The first local size is zero where the driver chooses.
func (l *Layer) launched(kernel front.Field, dimensions front.Message) {
	p := l.programs.find(kernel.Number).launches
	if p == nil || len(dimensions) < 1 || len(dimensions) > 3 {
		return
	}
	offset, global, local := [3]uintptr{}, [3]uintptr{1, 1, 1}, &[3]uintptr{1, 1, 1}
	for i, f := range dimensions {
		var of [3]uintptr
		if f.Tag != front.Sizes || uintptr(len(f.Data)) != unsafe.Sizeof(of) {
			return
		}
		copy(unsafe.Slice((*byte)(unsafe.Pointer(&of)), unsafe.Sizeof(of)), f.Data)
		offset[i], global[i], local[i] = of[0], of[1], of[2]
	}
	if local[0] == 0 {
		local = nil
	}
	p.launched(kernel.Text(), &global, local, &offset)
}

// request returns what a message asks for, whose code is C's.
func request(m *front.Request) (*Request, error) {
	r := &Request{What: What(m.What), Thread: m.Thread}
	var unit *Unit
	var directories uint64
	for _, f := range m.Message {
		ok := true
		switch f.Tag {
		case front.Function:
			switch f.Detail {
			case 0:
				r.Driver.GetPlatformInfo = f.Address()
			case 1:
				r.Driver.GetDeviceInfo = f.Address()
			}
		case front.Platform:
			r.Driver.Platform = f.Address()
		case front.Device:
			r.Devices = append(r.Devices, f.Address())
		case front.Environment:
			r.Environ = f.Environ()
		case front.Directories:
			directories = f.Number
		case front.Unit:
			var kind key.Kind
			kind, ok = kinds[f.Detail]
			r.Units = append(r.Units, Unit{Kind: kind, Compiled: f.Number})
			unit = &r.Units[len(r.Units)-1]
		case front.Options:
			if to := &r.Options; f.Data != nil {
				if unit != nil {
					to = &unit.Options
				}
				text := f.Text()
				*to = &text
			}
		default:
			ok = unit != nil && unit.take(f)
		}
		if !ok {
			return nil, f.Unexpected()
		}
	}
	environment.IntelSettings.Saw(directories&front.Settings != 0, directories&front.Moved != 0)
	return r, nil
}

// kinds are those of code, by their numbers in kernstash_front.h.
var kinds = map[uint32]key.Kind{1: key.OpenCLC, 2: key.SPIRV}

// take takes a field of the unit, and reports whether it is one.
func (u *Unit) take(f front.Field) bool {
	switch n := len(u.Headers); {
	case f.Tag == front.Code && n > 0:
		u.Headers[n-1].Content = f.Data
	case f.Tag == front.Code:
		u.Strings = append(u.Strings, f.Data)
	case f.Tag == front.Header:
		u.Headers = append(u.Headers, key.Header{Name: f.Text()})
	case f.Tag == front.Constant:
		u.Constants = append(u.Constants, key.SpecConstant{ID: f.Detail, Value: f.Data})
	default:
		return false
	}
	return true
}

// outcomesOf returns what a message says of each device; binaries are C's.
func outcomesOf(result front.Message) ([]Outcome, error) {
	var all []Outcome
	for _, f := range result {
		if f.Tag == front.Ended {
			all = append(all, Outcome{Result: front.Result(f.Detail), Took: f.Duration()})
			continue
		}
		if n := len(all); n == 0 || !all[n-1].take(f) {
			return nil, f.Unexpected()
		}
	}
	return all, nil
}

// take takes a field of the outcome, and reports whether it is one.
func (o *Outcome) take(f front.Field) bool {
	a := &o.Artifact
	switch f.Tag {
	case front.Status: // Failed says it all
	case front.Binary:
		a.Binary = f.Data
	case front.Log:
		a.Log = f.Text()
	case front.Kernel:
		a.Kernels = append(a.Kernels, store.Kernel{Name: f.Text()})
		o.unnamed = false
	case front.KernelAttributes, front.Argument, front.ArgumentType:
		if len(a.Kernels) == 0 {
			return false
		}
		o.takeKernel(&a.Kernels[len(a.Kernels)-1], f)
	default:
		return false
	}
	return true
}

// takeKernel takes what a field says of a kernel, which is without arguments where the
// driver does not tell of all of them.
func (o *Outcome) takeKernel(k *store.Kernel, f front.Field) {
	switch n := len(k.Args); {
	case f.Tag == front.KernelAttributes:
		k.Attributes = f.Text()
	case o.unnamed:
	case f.Tag == front.Argument && f.Data == nil:
		k.Args, o.unnamed = nil, true
	case f.Tag == front.Argument:
		k.Args = append(k.Args, store.Arg{Name: f.Text(), Address: uint64(f.Detail), TypeQual: f.Number})
	case n > 0:
		k.Args[n-1].TypeName, k.Args[n-1].Access = f.Text(), uint64(f.Detail)
	}
}

// appendTo appends one device's part to a message.
func (a *Artifact) appendTo(m front.Message) front.Message {
	m = append(m, front.Field{Tag: front.Part, Detail: uint32(a.Kind)})
	if len(a.Binary) == 0 {
		return m // a hole
	}
	m = append(m, front.Field{Tag: front.Binary, Data: a.Binary}, front.Field{Tag: front.Log, Data: front.String(a.Log)})
	if len(a.Answer) > 0 || a.Unread > 0 {
		m = append(m, front.Field{Tag: front.Answer, Number: uint64(a.Unread), Data: a.Answer})
	}
	for i := range a.Kernels {
		k := &a.Kernels[i]
		m = append(m, front.Field{Tag: front.Kernel, Data: front.String(k.Name)},
			front.Field{Tag: front.KernelAttributes, Data: front.String(k.Attributes)})
		for _, arg := range k.Args {
			m = append(m,
				front.Field{Tag: front.Argument, Detail: uint32(arg.Address), Number: arg.TypeQual, Data: front.String(arg.Name)},
				front.Field{Tag: front.ArgumentType, Detail: uint32(arg.Access), Data: front.String(arg.TypeName)})
		}
	}
	return m
}

// compiledAnyway counts and tells of what was found, and compiled nevertheless.
func (l *Layer) compiledAnyway(k key.Key, label string, took, saved time.Duration) {
	l.Cache.Count(stats.Builds, 1)
	l.Cache.Count(stats.BuildTime, int64(took))
	l.Reporter.Decided(engine.Decision{
		Key: k, Origin: engine.Compiled, Reason: runlog.ReasonWanted, Spent: took, Saved: saved,
	}, label)
	l.Counted()
}
