package cuda

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"github.com/kernstash/kernstash/internal/dl"
	"github.com/kernstash/kernstash/internal/elfid"
	"github.com/kernstash/kernstash/key"
)

// Identify returns what decides which machine code the driver makes of PTX for
// the device: the compute capability, the driver's version, and the build ids of
// the libraries that compile (libcuda, libnvidia-ptxjitcompiler,
// libnvidia-nvvm). Devices of one compute capability have equal identities,
// whatever they are called: they get the same code.
//
// What NVRTC makes of CUDA C++ does not depend on it; see package rtc.
//
// The error says that the libraries cannot be told; what the driver compiles is
// then not to be cached.
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

// compilers names the libraries of the driver that compile PTX, with their build
// ids. The driver opens the compiler at its first use, so it is looked for where
// the driver would: all are of one release.
var compilers = sync.OnceValues(func() ([]key.Pair, error) {
	driver, err := TheDriver()
	if err != nil {
		return nil, err
	}
	jit := besides(driver, "libnvidia-ptxjitcompiler")
	if jit == "" {
		if jit = opened("libnvidia-ptxjitcompiler.so.1"); jit == "" {
			return nil, errCompiler
		}
	}
	paths := []string{driver.Library, jit}
	for _, name := range []string{"libnvidia-nvvm", "libnvidia-nvvm70"} {
		if p := besides(driver, name); p != "" {
			paths = append(paths, p)
		}
	}
	libraries, err := elfid.Loaded().Closure(paths, func(string) bool { return false })
	if err != nil {
		return nil, err
	}
	if now, err := libraryPath(); err != nil || now != driver.Library {
		return nil, fmt.Errorf("%w: %s was replaced", errCompiler, driver.Library)
	}
	pairs := make([]key.Pair, len(libraries))
	for i, l := range libraries {
		pairs[i] = key.Pair{Name: l.Soname, Value: l.ID}
	}
	return pairs, nil
})

// besides returns the library of a name beside libcuda, of its version.
func besides(driver Driver, name string) string {
	_, version, _ := strings.Cut(filepath.Base(driver.Library), ".so.")
	path := filepath.Join(filepath.Dir(driver.Library), name+".so."+version)
	if _, err := os.Stat(path); err != nil {
		return ""
	}
	return path
}

// opened returns the file of a library that the loader finds.
func opened(soname string) string {
	if _, err := dl.Open(soname); err != nil {
		return ""
	}
	name, _, _ := strings.Cut(soname, ".so")
	if found := elfid.Loaded().Named(func(base string) bool { return strings.HasPrefix(base, name+".so") }); len(found) == 1 {
		return found[0]
	}
	return ""
}
