package doctor

import (
	"path/filepath"
	"strings"
)

// compiler is something that compiles device code while programs run, or a
// library through which programs ask for that.
type compiler struct {
	files  []string // how the names of its files begin: libraries, or programs
	name   string
	served bool   // by `kernstash run`
	text   string // how it is served, or what to do instead
}

const (
	byRun  = "served by 'kernstash run'"
	notYet = "not served: what it compiles is compiled as without the cache"

	openclLoader = "OpenCL loader"
)

// compilers are those that we know of, in no order. Of several that fit a file the
// longest name decides.
var compilers = []compiler{
	{[]string{"libOpenCL.so"}, openclLoader, true, byRun},
	{
		[]string{"libpocl.so", "libigdrcl.so", "libnvidia-opencl.so", "libamdocl64.so", "libRusticlOpenCL.so", "libMesaOpenCL.so", "libintelocl.so"},
		"OpenCL driver", true, "served by 'kernstash run', through the OpenCL loader or by preloading",
	},
	{[]string{"libnvrtc.so"}, "NVRTC", true, byRun},
	{[]string{"libhiprtc.so"}, "HIPRTC", true, byRun},
	{[]string{"libamdhip64.so"}, "HIP runtime", true, "what it compiles through HIPRTC is served by 'kernstash run'"},
	{[]string{"libze_loader.so"}, "Level Zero loader", true, byRun},
	{[]string{"libsycl.so"}, "SYCL runtime", true, "served by 'kernstash run' where it goes through Level Zero or OpenCL"},

	{[]string{"libnvJitLink.so"}, "nvJitLink", false, "not served: what it links is linked each time"},
	{[]string{"libnvvm.so"}, "libNVVM (Numba and others)", false, notYet + "; Numba keeps its own with cache=True"},
	{
		[]string{"libnvidia-ptxjitcompiler.so"},
		"PTX compiler of NVIDIA's driver", false,
		"not served: the driver keeps its own cache (CUDA_CACHE_PATH, CUDA_CACHE_MAXSIZE); programs that give it cubins do not need it",
	},
	{[]string{"libtriton.so"}, "Triton", false, "not served: it keeps its own cache (TRITON_CACHE_DIR)"},
	{[]string{"ptxas"}, "ptxas, as a program (Triton, JAX)", false, "not served: those who start it keep their own caches"},
	{[]string{"libnvinfer.so"}, "TensorRT", false, "not served: keep its engines, and its timing cache, yourself"},
	{[]string{"xla_extension", "xla_cuda_plugin", "libpjrt"}, "XLA (JAX)", false, "not served: see JAX_COMPILATION_CACHE_DIR"},
	{[]string{"libMIOpen.so"}, "MIOpen", false, "keeps its own cache (MIOPEN_CUSTOM_CACHE_DIR); what it compiles through HIPRTC is served"},
	{[]string{"nvcc", "cicc", "hipcc", "ocloc", "dpcpp", "icpx"}, "compiler, as a program", false, "not served: ccache and sccache are for those"},
}

// compilerOf returns what a file is, by its name.
func compilerOf(path string) (c compiler, ok bool) {
	name, longest := filepath.Base(path), 0
	for _, known := range compilers {
		for _, f := range known.files {
			// A program's name is whole, a library's goes on with its version.
			library := strings.Contains(f, ".so") || strings.Contains(f, "_") || strings.HasPrefix(f, "lib")
			if (name == f || library && strings.HasPrefix(name, f)) && len(f) > longest {
				c, longest, ok = known, len(f), true
			}
		}
	}
	return c, ok
}
