package cuda

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"unsafe"

	"github.com/kernstash/kernstash/internal/dl"
	"github.com/kernstash/kernstash/internal/drivers"
	"github.com/kernstash/kernstash/internal/elfid"
	"github.com/kernstash/kernstash/key"
)

// start initialises the driver, once, and notes the environment that it finds. Its error stays.
var start = sync.OnceValue(func() error {
	variablesAtStart()
	err := call("cuInit", 0)
	if err == nil {
		return nil
	}
	if failed, ok := errors.AsType[*Error](err); ok {
		err = fmt.Errorf("%w: %w", ErrNoDriver, err)
		if hint := startHints[failed.Code]; hint != "" {
			err = fmt.Errorf("%w; %s", err, hint)
		}
	}
	return fmt.Errorf("initialise CUDA: %w", err)
})

// startHints say what to do about what cuInit returned.
var startHints = map[Code]string{
	NoDevice:                   "no GPU is visible: look at nvidia-smi, at CUDA_VISIBLE_DEVICES, and whether the container was given its GPUs",
	StubLibrary:                "this libcuda.so.1 is the toolkit's stub (CUDA_ERROR_STUB_LIBRARY): take its directory out of LD_LIBRARY_PATH, and install NVIDIA's driver",
	SystemDriverMismatch:       "the driver's kernel module is of another version than libcuda.so.1: reboot, or load the module anew",
	CompatNotSupportedOnDevice: "this GPU does not take the forward compatibility libraries: take their directory out of LD_LIBRARY_PATH",
	SystemNotReady:             "the machine is not ready: is the fabric manager running?",
	UnknownError:               "the driver's kernel module does not answer: is it loaded, and are there /dev/nvidia* files?",
	OperatingSystem:            "the operating system refused: are the /dev/nvidia* files accessible?",
	DeviceNotLicensed:          "the GPU has no licence",
}

// Driver is what the process's NVIDIA driver says of itself.
type Driver struct {
	Version string // "580.95.05", from the name of its library's file; "" where that does not tell
	CUDA    string // "13.0", the newest CUDA that it is for
	Library string // the path of libcuda.so.1
}

// String returns "580.95.05 (CUDA 13.0)".
func (d Driver) String() string {
	if d.Version == "" {
		return "CUDA " + d.CUDA
	}
	return fmt.Sprintf("%s (CUDA %s)", d.Version, d.CUDA)
}

// TheDriver returns the process's driver. Where there is none, or none that
// works, the error wraps ErrNoDriver and says what to do.
func TheDriver() (Driver, error) {
	if err := start(); err != nil {
		return Driver{}, fmt.Errorf("find driver: %w", err)
	}
	var v int32
	if err := call("cuDriverGetVersion", uintptr(unsafe.Pointer(&v))); err != nil {
		return Driver{}, fmt.Errorf("find driver: %w", err)
	}
	path, err := libraryPath(elfid.Loaded())
	if err != nil {
		return Driver{}, fmt.Errorf("find driver: %w", err)
	}
	return Driver{Version: versionOf(path), CUDA: fmt.Sprintf("%d.%d", v/1000, v%1000/10), Library: path}, nil
}

// errPath is returned where the system does not say which file the library is.
var errPath = errors.New("the file of libcuda.so.1 is not known")

// libraryPath returns the file of the driver's library, links followed.
func libraryPath(m elfid.Mappings) (string, error) {
	f, err := find("cuInit")
	if err != nil {
		return "", err
	}
	if at, ok := m.Find(uintptr(f)); ok && at.Path != "" {
		return at.Path, nil
	}
	return "", errPath
}

// versionOf returns the driver's version in the name of its library's file: libcuda.so.580.95.05.
// Windows' subsystem for Linux has libcuda.so.1.1, which tells none.
func versionOf(library string) string {
	_, version, _ := strings.Cut(filepath.Base(library), ".so.")
	if major, _, ok := strings.Cut(version, "."); !ok || len(major) < 2 {
		return ""
	}
	return version
}

// obeyed are the environment variables that change what the driver makes of PTX or
// whether it takes a cubin at all (CUDA Programming Guide, "CUDA Environment
// Variables"). CUDA_CACHE_* say where the driver keeps its own cache.
var obeyed = drivers.Rules{Prefixes: []string{
	"CUDA_FORCE_", "CUDA_DISABLE_PTX_JIT", "CUDA_DISABLE_JIT", "CUDA_ENABLE_COREDUMP_ON_EXCEPTION", "CUDA_DEVICE_DEBUG",
}}

// variablesAtStart returns those of the first call, which is made before the driver is initialised.
var variablesAtStart = sync.OnceValue(func() []key.Pair { return obeyed.Of(dl.Environ()) })

// seen is what was seen of what the driver obeys.
var seen drivers.Seen

// steadyVariables returns the variables that the driver's compiler obeys, with an
// error if they are not, or once were not, those of the driver's start.
func steadyVariables() ([]key.Pair, error) {
	return seen.Steady(&obeyed, dl.Environ(), variablesAtStart())
}

// jitForced reports whether the driver takes no machine code, only PTX.
func jitForced() bool {
	return slices.ContainsFunc(variablesAtStart(), func(p key.Pair) bool {
		return (p.Name == "CUDA_FORCE_PTX_JIT" || p.Name == "CUDA_FORCE_JIT") && p.Value != "" && p.Value != "0"
	})
}

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
