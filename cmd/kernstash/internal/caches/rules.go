// Package caches knows where others keep what they compile for GPUs, counts what is there, and
// says what in it tells of this machine. It changes nothing, follows no link, and is bounded.
package caches

import (
	"cmp"
	"os"
	"os/user"
	"path/filepath"
	"strings"

	"github.com/kernstash/kernstash/cmd/kernstash/internal/frameworks"
	"github.com/kernstash/kernstash/internal/pattern"
)

// A rule says where a tool keeps its cache.
type rule struct {
	tool   string
	keeps  string // what, and of whom
	source string // of the rule

	// places are all directories that may be the cache, those that a variable names first. It asks e.
	places func(e *surroundings) []place
}

// A place is a directory that may be there.
type place struct {
	dir string // "": there is none
	by  string // the variable that names it; "" for where it is by default
}

// rules are in the order in which tools are named that are not here.
var rules = []rule{
	{
		"pocl", "kernels of PoCL", "pocl/pocl: lib/CL/pocl_cache.c",
		func(e *surroundings) []place {
			all := e.named("POCL_CACHE_DIR", e.cache("pocl", "kcache"))
			all = append(all, place{dir: e.cache("pocl", "uncached")}) // with POCL_KERNEL_CACHE=0
			if e.homeDir == "" && e.get("XDG_CACHE_HOME") == "" {
				all = append(all, place{dir: "/tmp/pocl/kcache"})
			}
			return all
		},
	},
	{
		"neo", "programs of Intel's driver, and of ocloc", "intel/compute-runtime: opencl/doc/FAQ.md, shared/source/compiler_interface/linux/os_compiler_cache_helper.cpp, */compiler_cache/default_cache_config.cpp",
		func(e *surroundings) []place {
			all := e.named("NEO_CACHE_DIR", e.cache("neo_compiler_cache"))
			all = append(all, place{dir: e.home("neo_compiler_cache")}) // as its documentation had it first
			all = append(all, e.named("cl_cache_dir", e.here("cl_cache"))...)
			return append(append(all, e.named("l0_cache_dir", e.here("l0_cache"))...), place{dir: e.here("ocloc_cache")})
		},
	},
	{
		"dpcpp", "device code of DPC++ (SYCL)", "intel/llvm: sycl/doc/EnvironmentVariables.md",
		func(e *surroundings) []place {
			return append(e.named("SYCL_CACHE_DIR", e.cache("libsycl_cache")), e.ours("dpcpp"))
		},
	},
	{
		"cuda", "what NVIDIA's driver compiles of PTX, and of OpenCL", "NVIDIA: CUDA Programming Guide, environment variables",
		func(e *surroundings) []place { return e.named("CUDA_CACHE_PATH", e.home(".nv", "ComputeCache")) },
	},
	{
		"cuda-python", "what cuda.core compiles through NVRTC", "NVIDIA/cuda-python: cuda_core/cuda/core/utils/_cache_dir.py",
		func(e *surroundings) []place { return []place{{dir: e.cache("cuda-python")}} },
	},
	{
		"mesa", "shaders and kernels of Mesa", "mesa: docs/envvars.rst, src/util/disk_cache_os.c",
		func(e *surroundings) (all []place) {
			for _, name := range []string{"mesa_shader_cache", "mesa_shader_cache_db", "mesa_shader_cache_sf"} {
				for _, variable := range []string{"MESA_SHADER_CACHE_DIR", "MESA_GLSL_CACHE_DIR"} {
					if dir := e.get(variable); dir != "" {
						all = append(all, place{filepath.Join(dir, name), variable})
					}
				}
				all = append(all, place{dir: e.cache(name)}, place{dir: below(e.account, ".cache", name)}) // versions up to 22.3 at least do not ask HOME
			}
			return all
		},
	},
	{
		"cupy", "kernels of CuPy", "cupy/cupy: docs/source/reference/environment.rst",
		func(e *surroundings) []place { return e.named("CUPY_CACHE_DIR", e.home(".cupy", "kernel_cache")) },
	},
	{
		"triton", "kernels of Triton", "triton-lang/triton: python/triton/knobs.py",
		func(e *surroundings) []place {
			all := e.named("TRITON_CACHE_DIR", e.home(".triton", "cache"))
			if dir := e.get("TRITON_HOME"); dir != "" {
				all = append(all, place{filepath.Join(dir, ".triton", "cache"), "TRITON_HOME"})
			}
			return all
		},
	},
	{
		"inductor", "what torch.compile makes", "pytorch/pytorch: torch/_inductor/runtime/cache_dir_utils.py",
		func(e *surroundings) []place { return e.named("TORCHINDUCTOR_CACHE_DIR", inductor(e.get)) },
	},
	{
		"flashinfer", "kernels of FlashInfer", "flashinfer-ai/flashinfer: flashinfer/jit/env.py",
		func(e *surroundings) []place {
			all := []place{{dir: e.home(".cache", "flashinfer")}}
			if dir := e.get("FLASHINFER_WORKSPACE_BASE"); dir != "" {
				all = append([]place{{filepath.Join(dir, ".cache", "flashinfer"), "FLASHINFER_WORKSPACE_BASE"}}, all...)
			}
			return all
		},
	},
	{
		"numba", "functions of Numba, but for those beside their sources (__pycache__)", "numba/numba: docs/source/developer/caching.rst, numba/core/caching.py",
		func(e *surroundings) []place { return e.named("NUMBA_CACHE_DIR", e.cache("numba")) },
	},
	{
		"comgr", "what ROCm's comgr compiles", "ROCm/llvm-project: amd/comgr/README.md, src/comgr-env.h",
		func(e *surroundings) []place {
			return append(e.named("AMD_COMGR_CACHE_DIR", e.cache("comgr")), place{dir: e.cache("comgr_cache")}, e.ours("comgr"))
		},
	},
	{
		"miopen", "kernels of MIOpen, and its databases", "ROCm: MIOpen documentation, kernel cache, and find and immediate mode",
		func(e *surroundings) []place {
			return append(e.named("MIOPEN_CUSTOM_CACHE_DIR", e.home(".cache", "miopen")), e.named("MIOPEN_USER_DB_PATH", e.home(".config", "miopen"))...)
		},
	},
	{
		"jax", "executables of JAX", "jax-ml/jax: docs/persistent_compilation_cache.md",
		func(e *surroundings) []place { return append(e.named("JAX_COMPILATION_CACHE_DIR", ""), e.ours("jax")) },
	},
}

// Rule is one for people: docs/SCAN.md is the table of all.
type Rule struct{ Tool, Keeps, Source string }

// Rules returns all rules.
func Rules() (all []Rule) {
	for _, r := range rules {
		all = append(all, Rule{r.tool, r.keeps, r.source})
	}
	return all
}

// surroundings are what rules ask.
type surroundings struct {
	get     func(variable string) string
	homeDir string
	account string // the home that the user's account names
	dir     string // the working directory
	root    string // of our cache
}

// below joins a directory that is known with names; "" where it is not.
func below(dir string, names ...string) string {
	if !filepath.IsAbs(dir) {
		return ""
	}
	return filepath.Join(append([]string{dir}, names...)...)
}

func (e *surroundings) home(names ...string) string { return below(e.homeDir, names...) }

func (e *surroundings) here(name string) string { return below(e.dir, name) }

// cache returns what is below the user's directory of caches.
func (e *surroundings) cache(names ...string) string {
	if dir := e.get("XDG_CACHE_HOME"); filepath.IsAbs(dir) {
		return below(dir, names...)
	}
	return e.home(append([]string{".cache"}, names...)...)
}

// named returns the place that a variable names, and the one by default, which may hold what was
// compiled before the variable was set.
func (e *surroundings) named(variable, standard string) (all []place) {
	if dir := e.get(variable); dir != "" && !strings.Contains(dir, "://") {
		if !filepath.IsAbs(dir) {
			dir = e.here(dir)
		}
		all = append(all, place{dir, variable})
	}
	return append(all, place{dir: standard})
}

// ours is where 'kernstash run' has a framework keep its cache.
func (e *surroundings) ours(framework string) place {
	if e.root == "" {
		return place{}
	}
	return place{frameworks.Dir(e.root, framework), "kernstash run"}
}

// Inductor returns where Inductor's cache is by default.
func Inductor() string { return inductor(os.Getenv) }

func inductor(get func(string) string) string {
	return filepath.Join(temporary(get), "torchinductor_"+unusual().ReplaceAllString(userName(get), "_"))
}

// unusual are the characters that Inductor replaces in the names of users.
var unusual = pattern.Lazy(`[\\/:*?"<>|]`)

// temporary and userName are what Python's tempfile and getpass say.
func temporary(get func(string) string) string {
	return cmp.Or(get("TMPDIR"), get("TEMP"), get("TMP"), "/tmp")
}

func userName(get func(string) string) string {
	name := cmp.Or(get("LOGNAME"), get("USER"), get("LNAME"), get("USERNAME"))
	if u, err := user.Current(); name == "" && err == nil {
		name = u.Username
	}
	return name
}
