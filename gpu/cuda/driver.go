package cuda

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/kernstash/kernstash/gpu/cuda/internal/cu"
	"github.com/kernstash/kernstash/internal/dl"
	"github.com/kernstash/kernstash/internal/drivers"
	"github.com/kernstash/kernstash/key"
)

// start initialises the driver, and notes the environment that it found.
func start() error {
	variablesAtStart()
	return cu.Init()
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
	v, err := cu.DriverGetVersion()
	if err != nil {
		return Driver{}, fmt.Errorf("find driver: %w", err)
	}
	d := Driver{CUDA: fmt.Sprintf("%d.%d", v/1000, v%1000/10)}
	if d.Library, err = cu.Path(); err != nil {
		return d, fmt.Errorf("find driver: %w", err)
	}
	d.Version = versionOf(d.Library)
	return d, nil
}

// versionOf returns the driver's version in the name of its library's file:
// libcuda.so.580.95.05. Windows' subsystem for Linux has libcuda.so.1.1, which
// tells none.
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

func driverVariables() []key.Pair { return obeyed.Of(dl.Environ()) }

// variablesAtStart returns those of the first call, which is made before the
// driver is initialised.
var variablesAtStart = sync.OnceValue(driverVariables)

// seen is what was seen of what the driver obeys.
var seen drivers.Seen

// steadyVariables returns the variables that the driver's compiler obeys, with an
// error if they are not, or once were not, those of the driver's start.
func steadyVariables() ([]key.Pair, error) {
	environ := dl.Environ()
	now := obeyed.Of(environ)
	return now, seen.Steady(&obeyed, environ, now, variablesAtStart())
}

// jitForced says whether the driver takes no machine code, only PTX.
func jitForced() bool {
	return slices.ContainsFunc(variablesAtStart(), func(p key.Pair) bool {
		return (p.Name == "CUDA_FORCE_PTX_JIT" || p.Name == "CUDA_FORCE_JIT") && p.Value != "" && p.Value != "0"
	})
}
