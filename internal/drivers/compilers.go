package drivers

import (
	"github.com/kernstash/kernstash/internal/elfid"
	"github.com/kernstash/kernstash/key"
)

// Compilers names the libraries that compile for drivers, with their build ids: the
// drivers, by their paths, what they open by name, and the compilers that those are
// linked with. m is what the process has loaded. Finding out takes some 0.5 ms: what
// is loaded runs until the process ends, whatever becomes of its file, so once is
// enough.
//
// Of a driver that is not known here nobody has looked at which of the libraries that
// it is linked with compile: all count but those of the system.
func Compilers(m elfid.Mappings, drivers ...string) ([]key.Pair, error) {
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
