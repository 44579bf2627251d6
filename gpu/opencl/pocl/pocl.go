// Package pocl holds all that only PoCL needs of the OpenCL adapter. Only gpu/opencl and what
// is below it uses it.
package pocl

import (
	"fmt"
	"path/filepath"
	"strings"

	"github.com/kernstash/kernstash/deps"
	"github.com/kernstash/kernstash/gpu/opencl/internal/driver"
	"github.com/kernstash/kernstash/internal/drivers"
	"github.com/kernstash/kernstash/key"
)

// Driver is PoCL's. It makes code at the first launch of a local size.
type Driver struct{ driver.Other }

var _ driver.Deferrer = Driver{}

// New returns PoCL's driver.
func New() Driver {
	return Driver{driver.Other{Suffix: "POCL", Name: "Portable Computing Language", Obeys: &rules}}
}

// rules name what libpocl.so.2.10.0 (3.1) holds. What is not known not to change code is in: a
// variable too many costs a miss, one too few gives wrong code. Left out are those that change
// where things are kept, what is printed, or how work is spread (PoCL's documentation, "Tunable
// parameters via environment variables"): the directory, the cache's being on, debugging and
// tracing, signal handlers, memory limits, delays. POCL_BINARY_SPECIALIZE_WG adds versions to a
// binary and changes none. POCL_MAX_WORK_GROUP_SIZE, POCL_DEVICES, POCL_WORK_GROUP_METHOD,
// POCL_WORK_GROUP_SPECIALIZATION, POCL_EXTRA_BUILD_FLAGS, POCL_KERNELLIB_NAME,
// POCL_LLVM_CPU_NAME and the loop parameters stay in. With POCL_BUILDING set PoCL compiles with
// what lies where it was built, which is in no identity. clang, which it links with, obeys
// COMPILER_PATH and LIBRARY_PATH, and the linker that clang runs obeys LDEMULATION and others;
// which linker that is stands in the identity, see files.
var rules = drivers.Rules{
	Prefixes: []string{"POCL_"},
	// Which devices there are; the device's name, which is in the key, says which of them it is.
	Sets:  []string{"POCL_DEVICES"},
	Names: []string{"LIBRARY_PATH", "LDEMULATION", "GNUTARGET", "LD_RUN_PATH", "LLVM_OVERRIDE_PRODUCER"},
	Reads: []string{"POCL_BUILDING", "COMPILER_PATH"},
	Except: []string{
		"POCL_CACHE_DIR", "POCL_KERNEL_CACHE", "POCL_DEBUG", "POCL_TRACING", "POCL_BINARY_SPECIALIZE_WG",
		"POCL_AFFINITY", "POCL_LEAVE_KERNEL_COMPILER_TEMP_FILES", "POCL_MEMORY_LIMIT",
		"POCL_SIGFPE_HANDLER", "POCL_SIGUSR2_HANDLER", "POCL_STARTUP_DELAY", "POCL_VECTORIZER_REMARKS",
		"POCL_OFFLINE_COMPILE", "POCL_ENABLE_UNINIT", "POCL_CPU_LOCAL_MEM_SIZE",
		"POCL_PTHREAD_MIN_THREADS", "POCL_MAX_PTHREAD_COUNT", "POCL_CPU_MAX_CU_COUNT",
	},
}

// Identity returns the files that PoCL compiles with.
func (Driver) Identity(d driver.Device) (traits, compiler []key.Pair, err error) {
	compiler, err = loaded.compileWith(d.Platform)
	return nil, compiler, err
}

// Steady returns an error where those files changed, or where programs cannot be restored safely.
func (d Driver) Steady(p driver.Platform, environ []string) error {
	if err := loaded.steady(environ); err != nil {
		return err
	}
	_, err := d.CacheOff(p, environ)
	return err
}

// HeaderSearch returns what the system calls of builds show: PoCL 3.1 writes the source to a
// file of a random name in its cache directory, and puts -I. in front of the options.
func (p Driver) HeaderSearch(d driver.Device, dir string) (deps.Search, error) {
	if !strings.HasPrefix(d.Driver, "3.1") {
		return p.Other.HeaderSearch(d, dir)
	}
	main, now := cacheDirectory(d.Env.Loaded), cacheDirectory(d.Env.Now())
	if main != now || !filepath.IsAbs(main) {
		return deps.Search{}, fmt.Errorf("PoCL's cache directory is %q or %q: %w", main, now, driver.ErrHeaders)
	}
	return deps.Search{Main: main, Unnamed: true, First: []string{dir}}, nil
}

// Repeats returns nil: machine code with and without a constant is the same byte for byte
// (decision 080).
func (Driver) Repeats(driver.Device, []key.Pair) error { return nil }

// cacheDirectory returns PoCL's cache directory in an environment.
func cacheDirectory(environ []string) string {
	for _, v := range []struct{ name, below string }{
		{"POCL_CACHE_DIR", ""}, {"XDG_CACHE_HOME", "pocl/kcache"}, {"HOME", ".cache/pocl/kcache"},
	} {
		if dir := variable(environ, v.name); dir != "" {
			return filepath.Join(dir, v.below)
		}
	}
	return "/tmp/pocl/kcache"
}

// variable returns the value of a variable of an environment, as os.Environ has it.
func variable(environ []string, name string) string {
	for _, e := range environ {
		if value, ok := strings.CutPrefix(e, name+"="); ok {
			return value
		}
	}
	return ""
}
