package drivers

import (
	"os"
	"path/filepath"
	"strings"

	"github.com/kernstash/kernstash/internal/dl"
	"github.com/kernstash/kernstash/internal/elfid"
	"github.com/kernstash/kernstash/key"
)

// Compilers names the libraries that compile for drivers, with their build ids: the drivers, by
// their paths, what they open by name, and the compilers that those are linked with. m is what the
// process has loaded. Finding out takes some 0.5 ms: what is loaded runs until the process ends,
// whatever becomes of its file, so once is enough.
//
// Of a driver that is not known here nobody has looked at which of the libraries that
// it is linked with compile: all count but those of the system.
//
// It is an error if a library cannot be read, or if Intel's driver has a debugger, for which it compiles.
func Compilers(m elfid.Mappings, drivers ...string) ([]key.Pair, error) {
	if len(m.Named(isDebugger)) > 0 {
		return nil, errDebugger
	}
	var paths []string
	allKnown := true
	for _, driver := range drivers {
		with, known := companionsOf(driver, m)
		paths = append(append(paths, with...), driver)
		allKnown = allKnown && known
	}
	libraries, err := m.Closure(paths, func(soname string) bool {
		if allKnown {
			return beginsWith(compilers, soname)
		}
		return !beginsWith(system, soname)
	})
	if err != nil {
		return nil, err
	}
	pairs := make([]key.Pair, len(libraries))
	for i, l := range libraries {
		pairs[i] = key.Pair{Name: l.Soname, Value: l.ID}
	}
	return pairs, nil
}

// system are the libraries of the system, which all programs use.
var system = []string{
	"ld-linux", "libc.so", "libm.so", "libdl.so", "libpthread.so", "librt.so", "libgcc_s.so", "libstdc++.so",
	"libz.so", "libzstd.so", "liblzma.so", "libelf.so", "libexpat.so", "libtinfo.so", "libncurses", "libreadline.so",
	"libdrm", "libudev.so", "libX", "libxcb", "libwayland", "libOpenCL.so",
}

// compilers are the libraries that a driver may be linked with and that decide
// what it makes: LLVM and clang and what is built on them. PoCL 3.1 is linked
// with libLLVM-15 and libclang-cpp.so.15, IGC 1.0.12504 with libLLVM-14 and,
// through libopencl-clang, libclang-cpp.so.14 and libLLVMSPIRVLib.
var compilers = []string{
	"libLLVM", "libclang", "libopencl-clang", "libSPIRV", "libllvm", "libigc", "libigdfcl", "libiga",
	"libamd_comgr", "libgallium", "libpocl",
}

// companion is a library that compiles for a driver without being linked with
// it. It must be in the identity at every moment of a process or at none, so
// one that the driver opens late is found without it.
type companion struct {
	prefix string   // of the file's name, as loaded
	open   []string // sonames to open where it is not loaded, one of them
	beside bool     // lies beside the driver, with the driver's version
}

// Intel's compilers: 22.43 has opened both when the devices of OpenCL have been listed,
// and the second of them, which makes SPIR-V of OpenCL C, never for Level Zero, of which
// only SPIR-V is cached. To open it there would bring clang into a process that has no use
// for it. The sonames are those of the releases before and after 2.x of the compiler.
var (
	intelBackEnd  = companion{prefix: "libigc.so", open: []string{"libigc.so.2", "libigc.so.1"}}
	intelFrontEnd = companion{prefix: "libigdfcl.so", open: []string{"libigdfcl.so.2", "libigdfcl.so.1"}}
)

// companions of a driver, by the beginning of the driver's file name. Who is here is known:
// what else compiles for it is among compilers.
var companions = map[string][]companion{
	// Device back ends, opened when platforms are listed.
	"libpocl.so": {{prefix: "libpocl-devices-"}},

	"libigdrcl.so":    {intelBackEnd, intelFrontEnd},
	"libze_intel_gpu": {intelBackEnd},

	// Opened at the first build; all are of one release.
	"libnvidia-opencl.so": {
		{prefix: "libnvidia-nvvm", beside: true},
		{prefix: "libnvidia-ptxjitcompiler", beside: true},
		{prefix: "libcuda", beside: true},
	},

	// Opened at the first PTX. Windows' subsystem for Linux has none beside the driver.
	"libcuda.so": {
		{prefix: "libnvidia-ptxjitcompiler", beside: true, open: []string{"libnvidia-ptxjitcompiler.so.1"}},
		{prefix: "libnvidia-nvvm", beside: true},
	},

	// Mesa's: rusticl has all in one library (22.3), or is linked with libgallium; Clover
	// opens what is for a device when devices are listed.
	"libRusticlOpenCL.so": nil,
	"libMesaOpenCL.so":    {{prefix: "pipe_"}},

	"libamdocl64.so": {{prefix: "libamd_comgr.so", open: []string{"libamd_comgr.so.3", "libamd_comgr.so.2"}}},
}

// companionsOf returns the paths of the driver's companions, and whether the driver is known: whether
// somebody has looked at what it is linked with. A companion that cannot be had is left out: the driver
// cannot have it either.
func companionsOf(driver string, m elfid.Mappings) (paths []string, known bool) {
	for prefix, all := range companions {
		if !strings.HasPrefix(filepath.Base(driver), prefix) {
			continue
		}
		known = true
		for _, c := range all {
			found := c.besides(driver)
			if !c.beside {
				found = m.Named(c.is)
			}
			if len(found) == 0 && len(c.open) > 0 {
				if _, err := dl.Open(c.open...); err == nil {
					found = elfid.Loaded().Named(c.is)
				}
			}
			paths = append(paths, found...)
		}
	}
	return paths, known
}

func (c companion) is(name string) bool { return strings.HasPrefix(name, c.prefix) }

// besides returns the file that has the driver's directory and version: libnvidia-nvvm.so.580.95.05
// beside libnvidia-opencl.so.580.95.05, or its later form libnvidia-nvvm70.so.580….
func (c companion) besides(driver string) []string {
	_, version, ok := strings.Cut(filepath.Base(driver), ".so.")
	if !ok {
		return nil
	}
	var found []string
	for _, digits := range []string{"", "70"} {
		path := filepath.Join(filepath.Dir(driver), c.prefix+digits+".so."+version)
		if _, err := os.Stat(path); err == nil {
			found = append(found, path)
		}
	}
	return found
}
