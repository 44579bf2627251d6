// Package driver is what the OpenCL adapter asks about the driver of a platform. It answers
// for all drivers that need no package of their own.
package driver

import (
	"errors"
	"fmt"
	"strings"

	"github.com/kernstash/kernstash/deps"
	"github.com/kernstash/kernstash/gpu/opencl/internal/cl"
	"github.com/kernstash/kernstash/internal/dl"
	"github.com/kernstash/kernstash/internal/drivers"
	"github.com/kernstash/kernstash/internal/elfid"
	"github.com/kernstash/kernstash/key"
	"github.com/kernstash/kernstash/store"
)

// Driver is a driver whose behavior somebody has looked at, or Unknown.
type Driver interface {
	// Is reports whether a platform of a name and a suffix (CL_PLATFORM_ICD_SUFFIX_KHR) is the
	// driver's. The name decides where an application reaches a driver without the usual loader.
	Is(name, suffix string) bool

	// Rules returns which environment variables and files the compiler obeys.
	Rules(p Platform) *drivers.Rules

	// Identity returns what decides how a device compiles, besides what any device is asked.
	Identity(d Device) (traits, compiler []key.Pair, err error)

	// Steady returns why programs are not to be cached in an environment; nil if nothing is
	// against it. That variables changed, and files of Rules, the adapter looks at itself.
	Steady(p Platform, environ []string) error

	// HeaderSearch returns where the compiler looks for header files besides the directories
	// of options, while dir is the working directory.
	HeaderSearch(d Device, dir string) (deps.Search, error)

	// TellsNoOptions reports whether the driver may make another program of no options at all
	// (C's NULL) than of empty ones.
	TellsNoOptions() bool

	// Repeats returns an error where the driver may make other code of a source for a constant
	// at its end that nothing refers to. obeyed are the variables that the compiler obeys.
	Repeats(d Device, obeyed []key.Pair) error
}

// Known are the drivers that somebody has looked at, but PoCL's, and in the end the one for all
// others.
var Known = []Driver{
	Intel{Other{"INTEL", "Intel(R) OpenCL", &drivers.Intel}},
	NVIDIA{Other{"NV", "NVIDIA CUDA", &nvidiaRules}},
	Other{"AMD", "AMD Accelerated", &amdRules},
	Other{"MESA", "rusticl", &mesaRules},
	Oclgrind{Other{"oclg", "Oclgrind", &oclgrindRules}},
	Unknown{},
}

// Errors of drivers.
var (
	// ErrHeaders is wrapped where it is not known where a driver looks for header files.
	ErrHeaders = errors.New("where this driver looks for header files was not found out")

	// ErrElsewhere is wrapped where this machine cannot assemble, and another one may.
	ErrElsewhere = errors.New("not to be finished here")

	// errRepeats is of drivers whose code was not compared.
	errRepeats = errors.New("what this driver makes of it is not known")
)

// Platform is a platform in a process.
type Platform struct {
	ID                            cl.PlatformID
	Name, Vendor, Version, Suffix string
	Env                           drivers.Environments
}

// Library returns the path of the platform's own library. Every object of an ICD driver starts with
// the address of its dispatch table, the first entry of which is its clGetPlatformIDs (cl_khr_icd,
// "ICD Compatible Vendor Implementations"): the file that is mapped there is the driver.
func (p Platform) Library(m elfid.Mappings) string {
	addr := uintptr(p.ID)
	for range 2 {
		if _, ok := m.Find(addr); !ok || addr%8 != 0 {
			return ""
		}
		addr = dl.Word(addr)
	}
	at, _ := m.Find(addr)
	return at.Path
}

// Device is a device of a platform.
type Device struct {
	Platform
	Device      cl.DeviceID
	Ask         *cl.Queries
	Driver      string // the driver's version
	CVersion    string
	Type        string
	CPU, GPU    bool
	AddressBits int
	Has         func(extension string) bool
}

// number returns a parameter of the device that is one.
func (d Device) number(param uint32) (n uint64, ok bool) {
	return cl.Number(d.Ask.Device(d.Device, param))
}

// Program is a built program on one of its devices.
type Program struct {
	Device cl.DeviceID
	ID     func() (cl.ProgramID, error) // an error once it is released, which it may be while it is waited for a moment
}

// Kernels returns a program's kernels with what the driver tells of their arguments, which is
// nothing where it was not compiled to tell.
func Kernels(p cl.ProgramID) ([]store.Kernel, error) {
	ids, err := cl.CreateKernelsInProgram(p)
	if err != nil {
		return nil, fmt.Errorf("describe kernels: %w", err)
	}
	kernels := make([]store.Kernel, len(ids))
	for i, id := range ids {
		kernels[i] = describe(id)
		err = errors.Join(err, cl.Status("clReleaseKernel", uintptr(id)))
	}
	return kernels, err
}

func describe(id cl.KernelID) store.Kernel {
	k := store.Kernel{
		Name:       cl.Text(cl.Info("clGetKernelInfo", cl.KernelFunctionName, uintptr(id))),
		Attributes: cl.Text(cl.Info("clGetKernelInfo", cl.KernelAttributes, uintptr(id))),
	}
	n, _ := cl.Number(cl.Info("clGetKernelInfo", cl.KernelNumArgs, uintptr(id)))
	for i := range int(n) {
		address, ok := cl.Number(cl.Info("clGetKernelArgInfo", cl.KernelArgAddressQualifier, uintptr(id), uintptr(i)))
		if !ok {
			k.Args = nil
			break
		}
		a := store.Arg{
			Name:     cl.Text(cl.Info("clGetKernelArgInfo", cl.KernelArgName, uintptr(id), uintptr(i))),
			TypeName: cl.Text(cl.Info("clGetKernelArgInfo", cl.KernelArgTypeName, uintptr(id), uintptr(i))),
			Address:  address,
		}
		a.Access, _ = cl.Number(cl.Info("clGetKernelArgInfo", cl.KernelArgAccessQualifier, uintptr(id), uintptr(i)))
		a.TypeQual, _ = cl.Number(cl.Info("clGetKernelArgInfo", cl.KernelArgTypeQualifier, uintptr(id), uintptr(i)))
		k.Args = append(k.Args, a)
	}
	return k
}

// Other is a driver of which no more is known than how its platforms are called, and what its
// compiler obeys. Others embed it.
type Other struct {
	Suffix, Name string // CL_PLATFORM_ICD_SUFFIX_KHR, and what the platform's name begins with
	Obeys        *drivers.Rules
}

// Is implements Driver.
func (o Other) Is(name, suffix string) bool {
	return suffix == o.Suffix || strings.HasPrefix(name, o.Name)
}

// Rules implements Driver.
func (o Other) Rules(Platform) *drivers.Rules { return o.Obeys }

// Identity returns nothing.
func (Other) Identity(Device) (traits, compiler []key.Pair, err error) { return nil, nil, nil }

// Steady returns nil.
func (Other) Steady(Platform, []string) error { return nil }

// HeaderSearch returns an error that wraps ErrHeaders.
func (Other) HeaderSearch(d Device, _ string) (deps.Search, error) {
	return deps.Search{}, fmt.Errorf("%s, driver %s: %w", d.Name, d.Driver, ErrHeaders)
}

// TellsNoOptions returns true: it is not known, so the driver may.
func (Other) TellsNoOptions() bool { return true }

// Repeats returns an error.
func (Other) Repeats(Device, []key.Pair) error { return errRepeats }

// A Deferrer is a Driver that makes code at the first launch of a local size.
type Deferrer interface {
	// Launch queues a launch with enqueue.
	Launch(enqueue func() error) error

	// Opened notes a new queue. Closing waits until the queue is empty, and forgets it.
	Opened(q cl.QueueID)
	Closing(q cl.QueueID) error

	// Rest waits until the driver touches nothing more of what is released next.
	Rest()

	// Binary returns a program's binary. It waits for a moment without launches.
	Binary(p Program) ([]byte, error)

	// Capture returns what the driver made of a program, and which of the variants that has; an
	// error that wraps kernstash.ErrBusy where something is launched meanwhile.
	Capture(p Program, variants []string) (*store.Artifact, error)

	// Prepare has the driver make code before any launch; nil where it makes none.
	Prepare(p Program, o Ahead) *store.Artifact

	// CacheOff reports whether the driver's own cache, which matters here, is off in an
	// environment. An error says that programs cannot be restored safely.
	CacheOff(p Platform, environ []string) (off bool, err error)

	// Loadable returns what to make a program of in the place of a binary.
	Loadable(p Platform, binary []byte) ([]byte, error)
}

// Ahead says for which launches code is made before them.
type Ahead struct {
	LocalSizes [][3]int // for every kernel
	Variants   []string // launches that were seen
	Unlaunched bool     // what there is without launches, where nothing else is there

	// LocalSize returns the local size that the driver chooses for a global size.
	LocalSize func(global [3]uintptr) (local [3]uint32, err error)
}
