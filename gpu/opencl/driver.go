package opencl

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"

	"github.com/kernstash/kernstash/deps"
	"github.com/kernstash/kernstash/deps/flags"
	"github.com/kernstash/kernstash/gpu/opencl/internal/driver"
	"github.com/kernstash/kernstash/gpu/opencl/internal/randomname"
	"github.com/kernstash/kernstash/gpu/opencl/pocl"
	"github.com/kernstash/kernstash/internal/drivers"
	"github.com/kernstash/kernstash/internal/elfid"
	"github.com/kernstash/kernstash/key"
)

// known is a driver, and what was seen of it in this process.
type known struct {
	driver.Driver
	seen drivers.Seen
}

// knownDrivers are PoCL's and those of package driver, in the end the one for all others.
var knownDrivers = func() (all []*known) {
	for _, d := range append([]driver.Driver{pocl.New()}, driver.Known...) {
		all = append(all, &known{Driver: d})
	}
	return all
}()

func (p *Platform) driver() *known {
	i := slices.IndexFunc(knownDrivers, func(k *known) bool { return k.Is(p.Name, p.Suffix) })
	return knownDrivers[i] // there is one: the last is of any platform
}

// deferrer returns the platform's driver if that makes code at launches, else nil.
func (p *Platform) deferrer() driver.Deferrer {
	d, _ := p.driver().Driver.(driver.Deferrer)
	return d
}

// asked returns the platform as its driver is asked about it.
func (p *Platform) asked() driver.Platform {
	return driver.Platform{ID: p.id, Name: p.Name, Vendor: p.Vendor, Version: p.Version, Suffix: p.Suffix, Env: p.env}
}

// asked returns the device as its driver is asked about it.
func (d *Device) asked() driver.Device {
	return driver.Device{
		Platform: d.platform.asked(), Device: d.id(), Ask: d.platform.ask, Driver: d.Driver, CVersion: d.CVersion,
		Type: d.Type.String(), CPU: d.Type&CPU != 0, GPU: d.Type&GPU != 0, AddressBits: d.Limits.AddressBits, Has: d.Has,
	}
}

// IsKnown reports whether the platform's driver is one of which this package knows when its code
// is complete. Others are taken to be Final, and the layer leaves them alone.
func (p *Platform) IsKnown() bool { return p.driver() != knownDrivers[len(knownDrivers)-1] }

// OwnCache reports whether the platform's driver has a cache of its own that matters to what
// kernstash restores, and whether that is off in a process with an environment. An error says
// why programs cannot be restored safely there.
func (p *Platform) OwnCache(environ []string) (has, off bool, err error) {
	d := p.deferrer()
	if d == nil {
		return false, false, nil
	}
	off, err = d.CacheOff(p.asked(), environ)
	return true, off, err
}

// Kind says when a driver's code is complete, and so when it is worth taking.
type Kind uint8

// The kinds of driver.
const (
	Final        Kind = iota // machine code when the build returns; also every driver that is not known
	Intermediate             // the binary is assembled again at each load
	Deferred                 // code is made at the first launch of a local size
)

func (k Kind) String() string { return [...]string{"final", "intermediate", "deferred"}[k] }

// Kind returns the kind of the device's driver.
func (d *Device) Kind() Kind {
	switch d.platform.driver().Driver.(type) {
	case driver.Deferrer:
		return Deferred
	case driver.NVIDIA:
		return Intermediate
	}
	return Final
}

// TellsNoOptions reports whether the driver may make another program of no options at all (C's
// NULL) than of empty ones.
func (d *Device) TellsNoOptions() bool { return d.platform.driver().TellsNoOptions() }

// FromDriversCache reports whether a binary that a build of a recipe gave is what the driver kept
// in a cache of its own, which may have missed that a header changed.
func FromDriversCache(r *key.Recipe, binary []byte) bool { return driver.FromOwnCache(r, binary) }

// Identify returns what decides how the device compiles: the four strings by which OpenCL names it,
// what devices of one name differ in, and the libraries that compile. Equal parts of a device, and
// equal devices of one machine or of two, have equal identities: no ordinal, no bus address, no
// number of compute units is in it.
//
// The error says that the libraries cannot be told; programs of the device are
// then not to be cached.
func (d *Device) Identify() (key.Device, error) {
	compiler, err := d.platform.compiler()
	if err != nil {
		return key.Device{}, fmt.Errorf("identify %s: %w", d.Name, err)
	}
	asked := d.asked()
	traits, files, err := d.platform.driver().Identity(asked)
	if err != nil {
		return key.Device{}, fmt.Errorf("identify %s: %w", d.Name, err)
	}
	return key.Device{
		API: "opencl", Platform: d.platform.Name, Name: d.Name, Version: d.Version, Driver: d.Driver,
		Traits: append(asked.Traits(), traits...), Compiler: slices.Concat(compiler, files),
	}, nil
}

// errLibraries is wrapped when the driver's own library cannot be found in this process's memory.
var errLibraries = errors.New("the driver's library is not known")

// compilers holds cl.PlatformID → []key.Pair. What is loaded runs until the process
// ends, whatever becomes of its file.
var compilers sync.Map

// compiler names the libraries that compile for the platform, with their build ids: the driver,
// what it opens by name, and the compilers that those are linked with. Finding out takes some
// 0.3 ms on PoCL, and as much again before Linux 6.11, which writes /proc/self/maps for it; it is done once.
func (p *Platform) compiler() ([]key.Pair, error) {
	if pairs, ok := compilers.Load(p.id); ok {
		return pairs.([]key.Pair), nil
	}
	m := elfid.Loaded()
	library := p.asked().Library(m)
	if library == "" {
		return nil, errLibraries
	}
	pairs, err := drivers.Compilers(m, library)
	if err != nil {
		return nil, err
	}
	first, _ := compilers.LoadOrStore(p.id, pairs) // one answer in a process
	return first.([]key.Pair), nil
}

// rules say which environment variables the platform's compiler obeys.
func (p *Platform) rules() *drivers.Rules { return p.driver().Rules(p.asked()) }

// CheckOptions returns an error where the words of compile options name a directory from
// which the device's compiler would take what nobody asked it for.
func (d *Device) CheckOptions(words []string) error {
	rules := d.platform.rules()
	if len(rules.Included) == 0 {
		return nil
	}
	dirs, sure := flags.Directories(words)
	if path := rules.IncludedFrom(dirs); path != "" {
		return fmt.Errorf("%w: %s", drivers.ErrSettings, path)
	} else if !sure {
		return fmt.Errorf("%w, in a directory that is not clear from the options", drivers.ErrSettings)
	}
	return nil
}

// Variables returns the environment variables that the device's compiler obeys
// in this process, sorted by name.
func (d *Device) Variables() []key.Pair { return d.platform.rules().Of(d.platform.env.Now()) }

// environAtLoad returns the environment of the first call, which is made before the loader loads
// the drivers, or, where the application did so itself, before this package first looks at one.
var environAtLoad = sync.OnceValue(os.Environ)

// SteadyVariables is Variables, with an error if they are not, or once were not, those that the
// process had when the driver was loaded. Drivers read some variables once and others at each
// build, so which values hold is not known then. It is an error, too, if the driver obeys a file of
// settings, or if programs cannot be restored safely or not so that nobody sees it.
func (d *Device) SteadyVariables() ([]key.Pair, error) {
	p := d.platform
	k, environ := p.driver(), p.env.Now()
	rules := p.rules()
	steady := k.Steady(p.asked(), environ) // it notes what it is asked about
	now, err := k.seen.Steady(rules, environ, p.variablesAtLoad())
	return now, cmp.Or(err, steady)
}

// LookAtVariables notes which platforms' variables are not those of a process's start, for
// [Device.SteadyVariables]: a compiler is about to compile something that this package was
// not asked about, and may keep what it reads now. start and now are environments as os.Environ
// has them.
func LookAtVariables(start, now []string) {
	_ = drivers.SteadySwitches(now) // it notes them
	for _, k := range knownDrivers {
		rules := k.Rules(driver.Platform{})
		_, _ = k.seen.Steady(rules, now, rules.Of(start))
	}
}

// HeaderSearch returns where the device's compiler looks for header files besides
// the directories of -I, while dir is the working directory. It is known for the
// drivers that it was found out of; the error says that this is another.
func (d *Device) HeaderSearch(dir string) (deps.Search, error) {
	return d.platform.driver().HeaderSearch(d.asked(), dir)
}

// errRandomName is wrapped where a source ends with a constant of a random name, and it is not
// certain that the driver makes the same of the source whatever the name.
var errRandomName = errors.New("the source ends with a constant of a random name (pyopencl_defeat_cache_…)")

// EndsWithRandomName reports whether code ends with the constant of a random name that pyopencl
// adds. No two programs have the same one.
func EndsWithRandomName(code []byte) bool {
	_, name := randomname.Cut(code)
	return name != ""
}

// Repeatable returns OpenCL C code with a fixed name in the place of the random one of the constant
// that pyopencl adds at its end; other code is returned as it is. The program of what is returned
// differs from that of code in nothing that a kernel, or a query of the program, can see: nothing
// refers to the constant. options are the words of the build's options. It is an error where that
// is not certain: for a driver of which it is not known, with options or variables that make a
// compiler look at what is not used, or where the name may be meant. Where code includes files, it
// is certain if checkFiles returns no error for the contents of all of them.
func (d *Device) Repeatable(code []byte, options []string) (fixed []byte, checkFiles func([][]byte) error, err error) {
	rest, name := randomname.Cut(code)
	if name == "" {
		return code, nil, nil
	}
	variables := d.Variables()
	if err := d.platform.driver().Repeats(d.asked(), variables); err != nil {
		return nil, nil, fmt.Errorf("%w: %w", errRandomName, err)
	}
	for _, v := range variables {
		if randomname.HasOption(v.Value) {
			return nil, nil, fmt.Errorf("%w, and the variable %s is set", errRandomName, v.Name)
		}
	}
	if err := randomname.CheckOptions(options); err != nil {
		return nil, nil, fmt.Errorf("%w, %w", errRandomName, err)
	}
	check := randomname.Checker(name, rest, []byte(strings.Join(options, " ")))
	checkFiles = func(files [][]byte) error {
		if err := check(files); err != nil {
			return fmt.Errorf("%w, %w", errRandomName, err)
		}
		return nil
	}
	return randomname.Fix(rest), checkFiles, checkFiles(nil)
}
