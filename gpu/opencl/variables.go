package opencl

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"unsafe"

	"github.com/kernstash/kernstash/deps/flags"
	"github.com/kernstash/kernstash/internal/drivers"
	"github.com/kernstash/kernstash/key"
)

// variables is the table. What is not known not to change code is in: a
// variable too many costs a miss, one too few gives wrong code.
var variables = [vendors]*drivers.Rules{
	// The names that libpocl.so.2.10.0 (3.1) holds. Left out are those that
	// change where things are kept, what is printed, or how work is spread
	// (PoCL's documentation, "Tunable parameters via environment variables"):
	// the directory, the cache's being on, debugging and tracing, signal
	// handlers, memory limits, delays. POCL_BINARY_SPECIALIZE_WG adds versions
	// to a binary and changes none. POCL_MAX_WORK_GROUP_SIZE, POCL_DEVICES,
	// POCL_WORK_GROUP_METHOD, POCL_WORK_GROUP_SPECIALIZATION,
	// POCL_EXTRA_BUILD_FLAGS, POCL_KERNELLIB_NAME, POCL_LLVM_CPU_NAME and the
	// loop parameters stay in. With POCL_BUILDING set PoCL compiles with what lies where it was
	// built, which is in no identity. clang, which it links with, obeys COMPILER_PATH and
	// LIBRARY_PATH, and the linker that clang runs obeys LDEMULATION and others; which linker
	// that is stands in the identity, see poclFiles.
	pocl: {
		Prefixes: []string{"POCL_"},
		// Which devices there are; the device's name, which is in the key, says which of
		// them it is.
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
	},

	intel: &drivers.Intel,

	// CUDA Toolkit documentation, "CUDA Environment Variables", JIT section.
	// CUDA_CACHE_* say where the driver keeps its own cache.
	nvidia: {
		Prefixes: []string{"CUDA_FORCE_", "CUDA_DISABLE_PTX_JIT", "CUDA_DISABLE_JIT", "CUDA_ENABLE_COREDUMP_ON_EXCEPTION", "NV_OCL_", "NVIDIA_OPENCL_"},
	},

	// ROCm's compiler front (opencl/amdocl, device/devprogram.cpp) appends
	// these to the options, or takes them instead; AMD_COMGR_* change what
	// comgr does. GPU_* and AMD_* hold more that is not documented.
	amd: {
		Prefixes: []string{"AMD_OCL_", "AMD_COMGR_", "GPU_", "AMD_CPU_", "HSA_OVERRIDE_GFX_VERSION"},
		Except:   []string{"AMD_COMGR_CACHE", "AMD_COMGR_SAVE_TEMPS", "AMD_COMGR_EMIT_VERBOSE_LOGS", "AMD_COMGR_REDIRECT_LOGS", "GPU_DEVICE_ORDINAL"},
	},

	// It is left alone (SteadyVariables); this is what it obeys.
	oclgrind: {Prefixes: []string{"OCLGRIND_"}},

	// Mesa's documentation, "Environment Variables": rusticl, the compiler in front of it and
	// those behind it. Left out is where caches and logs are, and which devices there are.
	// clang's declarations of what is built in come first from the working directory, and then
	// from those of the options (rusticl 22.3.6 with LLVM 15, by its system calls).
	mesa: {Prefixes: mesaPrefixes, Except: mesaExcept, Files: clangHeaders, Included: clangHeaders},

	// What any driver may obey, Mesa's, and clvk's ("Configuration"). Left out is also what
	// loaders obey. rules adds what a driver's name says.
	unknown: {
		Prefixes: append([]string{"CLVK_", "CL_", "OCL_", "OPENCL_", "LLVM_", "CLANG_"}, mesaPrefixes...),
		Except:   append([]string{"CLVK_CACHE_DIR", "CLVK_LOG", "OCL_ICD_", "OPENCL_LAYER", "OPENCL_VENDOR_PATH"}, mesaExcept...),
		Files:    clangHeaders, Included: clangHeaders, // most compilers are clang
	},
}

var (
	mesaPrefixes = []string{
		"RUSTICL_", "CLC_", "MESA_", "NIR_", "GALLIUM_", "GALLIVM_", "LP_", "AMD_DEBUG", "RADEON_", "R600_", "INTEL_DEBUG",
		"NOUVEAU_", "NVK_", "PAN_", "ZINK_",
	}
	mesaExcept = []string{
		"MESA_SHADER_CACHE_", "MESA_GLSL_CACHE_", "MESA_DISK_CACHE_", "MESA_LOG", "GALLIUM_HUD", "GALLIUM_TRACE",
		"GALLIUM_LOG", "RUSTICL_ENABLE", "LP_NUM_THREADS",
	}
)

// clangHeaders declare what is built into OpenCL C, where clang has none of its own at hand.
var clangHeaders = []string{"opencl-c-base.h", "opencl-c.h"}

// AgainstOptions returns an error where the words of compile options name a directory from
// which the device's compiler would take what nobody asked it for.
func (d *Device) AgainstOptions(words []string) error {
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
func (d *Device) Variables() []key.Pair {
	return d.platform.variables(d.platform.env.now())
}

// obeyedVariables are those of an environment that a platform's compilers obey.
type obeyedVariables struct {
	environ []string
	pairs   []key.Pair
}

// variables returns those of an environment that the compilers obey, sorted by name. In C's processes the
// environment is the same slice from build to build (see dl.Environ), and is not searched again.
func (p *Platform) variables(environ []string) []key.Pair {
	if o := p.obeyed.Load(); o != nil && len(o.environ) == len(environ) && unsafe.SliceData(o.environ) == unsafe.SliceData(environ) {
		return o.pairs
	}
	o := &obeyedVariables{environ, p.rules().Of(environ)}
	p.obeyed.Store(o)
	return o.pairs
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
var changed [vendors]atomic.Bool

// obeyed says of which vendors' drivers there were files of settings that the compiler may
// have read; nil: there were none.
var obeyed [vendors]atomic.Pointer[error]

// lookForSettings returns an error where there is, or was, such a file for a vendor's driver,
// whose rules are given. environ is as os.Environ has it. The driver has read the file by the
// next build, if it goes until then.
func (v vendor) lookForSettings(rules *drivers.Rules, environ []string) error {
	if obeyed[v].Load() == nil {
		if err := rules.Obeyed(environ); err != nil {
			obeyed[v].CompareAndSwap(nil, &err)
		}
	}
	if err := obeyed[v].Load(); err != nil {
		return *err
	}
	return nil
}

// errOclgrind is why a simulator's programs are all compiled: in what it says of a program's
// errors it quotes the source, which one that is restored does not have.
var errOclgrind = errors.New("a simulator, Oclgrind, quotes the source of programs, which restored ones do not have")

// SteadyVariables is Variables, with an error if they are not, or once were not,
// those that the process had when the driver was loaded. Drivers read some
// variables once and others at each build (PoCL 3.1 keeps POCL_EXTRA_BUILD_FLAGS
// of its first build), so which values hold is not known then. It is an error, too,
// if the driver obeys a file of settings, or if programs cannot be restored safely (PoCL,
// sometimes) or not so that nobody sees it (Oclgrind).
func (d *Device) SteadyVariables() ([]key.Pair, error) {
	v, environ := d.platform.vendor(), d.platform.env.now()
	rules := d.platform.rules()
	now := d.platform.variables(environ)
	if v == oclgrind {
		return now, errOclgrind
	}
	steady := v != intel || drivers.SteadySwitches(environ)
	if !steady || !slices.Equal(now, d.platform.variablesAtLoad()) {
		changed[v].Store(true)
	}
	if changed[v].Load() {
		return now, errVariables
	}
	if err := v.lookForSettings(rules, environ); err != nil {
		return now, err
	}
	if v == pocl {
		if err := ofPoCL.steady(environ); err != nil {
			return now, err
		}
	}
	if _, err := d.platform.poclCacheOff(environ); err != nil {
		return now, err
	}
	return now, nil
}
