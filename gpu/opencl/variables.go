package opencl

import (
	"errors"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"unicode"

	"github.com/kernstash/kernstash/key"
)

// rules say which environment variables a driver obeys while it compiles.
type rules struct {
	prefixes []string                                // all that start so,
	names    []string                                // and these,
	except   []string                                // but none that starts so
	also     func(name string, switchedOn bool) bool // and what this says; may be nil
	switchOn string                                  // the variable whose non-zero value is also's switchedOn
}

// variables is the table. What is not known not to change code is in: a
// variable too many costs a miss, one too few gives wrong code.
var variables = map[vendor]rules{
	// The names that libpocl.so.2.10.0 (3.1) holds. Left out are those that
	// change where things are kept, what is printed, or how work is spread
	// (PoCL's documentation, "Tunable parameters via environment variables"):
	// the directory, the cache's being on, debugging and tracing, signal
	// handlers, memory limits, delays. POCL_BINARY_SPECIALIZE_WG adds versions
	// to a binary and changes none. POCL_MAX_WORK_GROUP_SIZE, POCL_DEVICES,
	// POCL_WORK_GROUP_METHOD, POCL_WORK_GROUP_SPECIALIZATION,
	// POCL_EXTRA_BUILD_FLAGS, POCL_KERNELLIB_NAME, POCL_LLVM_CPU_NAME and the
	// loop parameters stay in.
	pocl: {
		prefixes: []string{"POCL_"},
		except: []string{
			"POCL_CACHE_DIR", "POCL_KERNEL_CACHE", "POCL_DEBUG", "POCL_TRACING", "POCL_BINARY_SPECIALIZE_WG",
			"POCL_AFFINITY", "POCL_LEAVE_KERNEL_COMPILER_TEMP_FILES", "POCL_MEMORY_LIMIT",
			"POCL_SIGFPE_HANDLER", "POCL_SIGUSR2_HANDLER", "POCL_STARTUP_DELAY", "POCL_VECTORIZER_REMARKS",
			"POCL_OFFLINE_COMPILE", "POCL_ENABLE_UNINIT", "POCL_BUILDING", "POCL_CPU_LOCAL_MEM_SIZE",
			"POCL_PTHREAD_MIN_THREADS", "POCL_MAX_PTHREAD_COUNT", "POCL_CPU_MAX_CU_COUNT",
		},
	},

	// IGC_*: the compiler's own switches. CL_CONFIG_*: those of Intel's CPU
	// runtime. NEO reads some fifteen hundred debug keys from variables that
	// have the keys' names (ProductFamilyOverride, ForceDeviceId, …) when
	// NEOReadDebugKeys is not 0; newer releases read them with a prefix
	// ("NEO_", "NEO_OCL_") too. Their names begin with a capital and go on in
	// small letters, so with the switch on everything that looks so counts;
	// UseKmdMigration and the like are in with it, at the price of a miss.
	intel: {
		prefixes: []string{"IGC_", "CL_CONFIG_", "NEO_", "NEOReadDebugKeys", "OverrideDefaultFP64Settings"},
		except:   []string{"NEO_CACHE_", "NEO_OCL_CACHE_", "CL_CONFIG_CPU_TARGET_DUMP", "IGC_ShaderDump", "IGC_DumpToC"},
		also:     func(name string, on bool) bool { return on && debugKey(name) },
		switchOn: "NEOReadDebugKeys",
	},

	// CUDA Toolkit documentation, "CUDA Environment Variables", JIT section.
	// CUDA_CACHE_* say where the driver keeps its own cache.
	nvidia: {
		prefixes: []string{"CUDA_FORCE_", "CUDA_DISABLE_PTX_JIT", "CUDA_DISABLE_JIT", "CUDA_ENABLE_COREDUMP_ON_EXCEPTION", "NV_OCL_", "NVIDIA_OPENCL_"},
	},

	// ROCm's compiler front (opencl/amdocl, device/devprogram.cpp) appends
	// these to the options, or takes them instead; AMD_COMGR_* change what
	// comgr does. GPU_* and AMD_* hold more that is not documented.
	amd: {
		prefixes: []string{"AMD_OCL_", "AMD_COMGR_", "GPU_", "AMD_CPU_", "HSA_OVERRIDE_GFX_VERSION"},
		except:   []string{"AMD_COMGR_CACHE", "AMD_COMGR_SAVE_TEMPS", "AMD_COMGR_EMIT_VERBOSE_LOGS", "AMD_COMGR_REDIRECT_LOGS", "GPU_DEVICE_ORDINAL"},
	},
}

// Variables returns the environment variables that the device's compiler obeys
// in this process, sorted by name.
func (d *Device) Variables() []key.Pair {
	return variables[d.platform.vendor()].of(d.platform.env.now())
}

// environments are those of a process that matter to a driver: what it was when
// the driver was loaded, and what it is.
type environments struct {
	loaded []string
	now    func() []string
}

// environAtLoad returns the environment of the first call, which is made before
// the loader loads the drivers, or, where the application did so itself, before
// this package first looks at one.
var environAtLoad = sync.OnceValue(os.Environ)

// errVariables is wrapped when variables changed behind a driver that may have
// read them.
var errVariables = errors.New("environment variables of the compiler changed since the driver was loaded")

// changed says of which vendors' drivers they did.
var changed [amd + 1]atomic.Bool

// SteadyVariables is Variables, with an error if they are not, or once were not,
// those that the process had when the driver was loaded. Drivers read some
// variables once and others at each build (PoCL 3.1 keeps POCL_EXTRA_BUILD_FLAGS
// of its first build), so which values hold is not known then.
func (d *Device) SteadyVariables() ([]key.Pair, error) {
	v, now := d.platform.vendor(), d.Variables()
	if !slices.Equal(now, d.platform.variablesAtLoad()) {
		changed[v].Store(true)
	}
	if changed[v].Load() {
		return now, errVariables
	}
	return now, nil
}

func (r rules) of(environ []string) []key.Pair {
	on := false
	for _, e := range environ {
		if name, value, _ := strings.Cut(e, "="); r.switchOn != "" && name == r.switchOn {
			on = value != "0" && value != ""
		}
	}
	var pairs []key.Pair
	for _, e := range environ {
		if name, value, _ := strings.Cut(e, "="); r.obeys(name, on) {
			pairs = append(pairs, key.Pair{Name: name, Value: value})
		}
	}
	slices.SortFunc(pairs, func(a, b key.Pair) int { return strings.Compare(a.Name, b.Name) })
	return pairs
}

func (r rules) obeys(name string, on bool) bool {
	if prefixes(r.except).is(name) {
		return false
	}
	return prefixes(r.prefixes).is(name) || slices.Contains(r.names, name) || r.also != nil && r.also(name, on)
}

// debugKey says whether a name looks like one of NEO's debug keys, and is none
// of those that only print, dump or wait.
func debugKey(name string) bool {
	if prefixes(printing).is(name) || strings.Contains(name, "_") || name == "" {
		return false
	}
	return unicode.IsUpper(rune(name[0])) && strings.ContainsFunc(name, unicode.IsLower)
}

var printing = prefixes{"Print", "Dump", "Log", "AUBDump"}
