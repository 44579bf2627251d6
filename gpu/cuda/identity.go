package cuda

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/kernstash/kernstash/internal/drivers"
	"github.com/kernstash/kernstash/internal/elfid"
	"github.com/kernstash/kernstash/key"
)

// Identify returns what decides which machine code the driver makes of PTX for the device: the compute
// capability, whatever the device is called, the driver's version, and the build ids of the libraries
// that compile (libcuda, libnvidia-ptxjitcompiler, libnvidia-nvvm). NVRTC has an identity of its own.
//
// The error says that the libraries cannot be told; what the driver compiles is then not to be cached.
func (d *Device) Identify() (key.Device, error) {
	driver, err := TheDriver()
	if err != nil {
		return key.Device{}, fmt.Errorf("identify %s: %w", d.Name, err)
	}
	compiler, err := compilers()
	if err != nil {
		return key.Device{}, fmt.Errorf("identify %s: %w", d.Name, err)
	}
	return key.Device{
		API: "cuda", Platform: "NVIDIA CUDA driver", Name: d.Capability.Arch(), Version: driver.CUDA, Driver: driver.Version,
		Traits:   []key.Pair{{Name: "compute capability", Value: d.Capability.String()}},
		Compiler: compiler,
	}, nil
}

// errCompiler is wrapped when the library that compiles PTX cannot be found.
var errCompiler = errors.New("the driver's compiler, libnvidia-ptxjitcompiler, was not found")

// compilers names the libraries of the driver that compile PTX, with their build ids.
var compilers = sync.OnceValues(func() ([]key.Pair, error) {
	m := elfid.Loaded()
	path, err := libraryPath(m)
	if err != nil {
		return nil, err
	}
	pairs, err := drivers.Compilers(m, path)
	if err != nil {
		return nil, err
	}
	if !slices.ContainsFunc(pairs, func(p key.Pair) bool { return strings.HasPrefix(p.Name, "libnvidia-ptxjitcompiler") }) {
		return nil, errCompiler
	}
	return pairs, nil
})
