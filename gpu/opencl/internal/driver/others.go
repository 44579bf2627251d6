package driver

import (
	"errors"
	"slices"
	"strings"
	"unicode"

	"github.com/kernstash/kernstash/internal/drivers"
)

// amdRules are of ROCm's driver. ROCm's compiler front (opencl/amdocl, device/devprogram.cpp) appends these to the
// options, or takes them instead; AMD_COMGR_* change what comgr does. GPU_* and AMD_* hold more
// that is not documented.
var amdRules = drivers.Rules{
	Prefixes: []string{"AMD_OCL_", "AMD_COMGR_", "GPU_", "AMD_CPU_", "HSA_OVERRIDE_GFX_VERSION"},
	Except:   []string{"AMD_COMGR_CACHE", "AMD_COMGR_SAVE_TEMPS", "AMD_COMGR_EMIT_VERBOSE_LOGS", "AMD_COMGR_REDIRECT_LOGS", "GPU_DEVICE_ORDINAL"},
}

// Mesa's documentation, "Environment Variables": rusticl, the compiler in front of it and those
// behind it. Left out is where caches and logs are, and which devices there are.
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

// clangHeaders declare what is built into OpenCL C, where clang has none of its own at hand. They
// come first from the working directory, and then from those of the options (rusticl 22.3.6 with
// LLVM 15, by its system calls).
var clangHeaders = []string{"opencl-c-base.h", "opencl-c.h"}

var mesaRules = drivers.Rules{Prefixes: mesaPrefixes, Except: mesaExcept, Files: clangHeaders, Included: clangHeaders}

// Oclgrind is a simulator. All programs are compiled there: in what it says of a program's errors
// it quotes the source, which a program that is restored does not have.
type Oclgrind struct{ Other }

var (
	oclgrindRules = drivers.Rules{Prefixes: []string{"OCLGRIND_"}}
	errOclgrind   = errors.New("a simulator, Oclgrind, quotes the source of programs, which restored ones do not have")
)

// Steady implements Driver.
func (Oclgrind) Steady(Platform, []string) error { return errOclgrind }

// Unknown is any driver that nobody has looked at.
type Unknown struct{ Other }

// unknownRules are what any driver may obey, Mesa's, and clvk's ("Configuration"). Left out is
// also what loaders obey. Most compilers are clang.
var unknownRules = drivers.Rules{
	Prefixes: append([]string{"CLVK_", "CL_", "OCL_", "OPENCL_", "LLVM_", "CLANG_"}, mesaPrefixes...),
	Except:   append([]string{"CLVK_CACHE_DIR", "CLVK_LOG", "OCL_ICD_", "OPENCL_LAYER", "OPENCL_VENDOR_PATH"}, mesaExcept...),
	Files:    clangHeaders, Included: clangHeaders,
}

// Is reports true.
func (Unknown) Is(string, string) bool { return true }

// Rules implements Driver. Variables count, too, that begin with a name of the driver's own
// ("ARM Platform": ARM; suffix QCOM: QCOM).
func (Unknown) Rules(p Platform) *drivers.Rules {
	own := unknownRules
	own.Prefixes = slices.Clone(own.Prefixes)
	for _, name := range []string{p.Name, p.Vendor, p.Suffix} {
		if i := strings.IndexFunc(name, func(c rune) bool { return !unicode.IsLetter(c) && !unicode.IsDigit(c) }); i >= 0 {
			name = name[:i]
		}
		if len(name) > 1 {
			own.Prefixes = append(own.Prefixes, strings.ToUpper(name))
		}
	}
	return &own
}
