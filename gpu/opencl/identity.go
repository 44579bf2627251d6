package opencl

import (
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/kernstash/kernstash/internal/drivers"
	"github.com/kernstash/kernstash/internal/elfid"
	"github.com/kernstash/kernstash/key"
)

// Identify returns what decides how the device compiles: the four strings by
// which OpenCL names it, what devices of one name differ in, and the libraries
// that compile. Equal parts of a device, and equal devices of one machine or
// of two, have equal identities: no ordinal, no bus address, no number of
// compute units is in it.
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

// errLibraries is wrapped when the driver's own library cannot be found in this
// process's memory.
var errLibraries = errors.New("the driver's library is not known")

// compilers holds cl.PlatformID → []key.Pair. What is loaded runs until the process
// ends, whatever becomes of its file.
var compilers sync.Map

// compiler names the libraries that compile for the platform, with their
// build ids: the driver, what it opens by name, and the compilers that those
// are linked with. Finding out takes some 0.5 ms on PoCL, half of it the
// kernel's writing /proc/self/maps; it is done once.
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
