package rtc_test

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/kernstash/kernstash"
	"github.com/kernstash/kernstash/gpu/rtc"
	"github.com/kernstash/kernstash/internal/dl"
	"github.com/kernstash/kernstash/key"
	"github.com/kernstash/kernstash/stats"
)

// newer opens the NVRTC of bin/cuda, of another version than the system's.
var newer = sync.OnceValues(func() (*rtc.Library, error) {
	dir, err := filepath.Abs("../../bin/cuda/lib64")
	if err != nil {
		return nil, err
	}
	if _, err := system[rtc.NVRTC](); err != nil {
		return nil, err
	}
	// It opens this by name, and NVIDIA's installer has it on the search path.
	if _, err := dl.Open(filepath.Join(dir, "libnvrtc-builtins.so.12.4")); err != nil {
		return nil, err
	}
	return rtc.Open(rtc.NVRTC, filepath.Join(dir, "libnvrtc.so.12"))
})

// nvrtcs returns the NVRTCs at hand: the system's, and that of bin/cuda.
func nvrtcs(t *testing.T) []*rtc.Library {
	t.Helper()
	all := []*rtc.Library{open(t, rtc.NVRTC)}
	l, err := newer()
	if err != nil {
		t.Log("without NVRTC 12.4, which scripts/cuda fetches:", err)
		return all
	}
	return append(all, l)
}

// project is what a project passes to NVRTC by default, as its source says. In the options
// INCLUDE and TOOLKIT are directories of header files.
type project struct {
	name   string // with the version, or the commit, and the file that was read
	file   string // what it calls the program
	opts   string
	source string // by default one without a header
	memory bool   // its headers are in memory
	why    string // why it is compiled each time; "": it is cached
}

const (
	plainSource   = "template <class T> __global__ void t(T *p) { *p = N; }\nextern \"C\" __global__ void k(int *p) { *p = 2; }\n"
	debugSource   = "#include <all.h>\nextern \"C\" __global__ void k(int *p) { *p = LIKE; }\n" // calls are numbered in debug information
	includeSource = "#include <all.h>\nextern \"C\" __global__ void k(int *p) { *p = twice(p[1]); }\n"
)

// Not here: --optimization-info, which NVRTC 12.4 goes on with in all later compiles of the process.
var projects = []project{
	{
		name: "DeepGEMM 6439a3d, csrc/jit/compiler.hpp, NVRTC before 12.8", file: "kernel.cu", source: includeSource,
		opts: "-std=c++20 --diag-suppress=39,161,174,177,186,940 --ptxas-options=--register-usage-level=10 -IINCLUDE -ITOOLKIT --gpu-architecture=sm_90a -default-device",
	},
	{
		name: "DeepGEMM 6439a3d, csrc/jit/compiler.hpp, NVRTC from 12.8 on", file: "kernel.cu", source: includeSource,
		opts: "-std=c++20 --diag-suppress=39,161,174,177,186,940 --ptxas-options=--register-usage-level=10 -IINCLUDE -ITOOLKIT --gpu-architecture=sm_90a -default-device --pch",
	},
	{
		name: "DeepGEMM 06a6ae2, csrc/jit/compiler.hpp, NVRTC from 12.8 on", file: "kernel.cu", source: includeSource,
		opts: "-std=c++20 --diag-suppress=39,161,174,177,186,940 --ptxas-options=--register-usage-level=10 -IINCLUDE -ITOOLKIT --gpu-architecture=sm_90a -default-device --pch --device-int128",
	},
	{
		name: "DeepGEMM 6439a3d, csrc/jit/compiler.hpp, DG_JIT_DEBUG=1", file: "kernel.cu", source: includeSource,
		opts: "-std=c++17 --ptxas-options=--register-usage-level=10 --ptxas-options=--verbose -IINCLUDE --gpu-architecture=sm_80 -default-device",
	},
	{
		name: "CuPy 13, cupy/_core/core.pyx and cupy/cuda/compiler.py", file: "/tmp/tmpa1b2c3d4/00ff.cubin.cu", source: includeSource,
		opts: "-IINCLUDE/cupy/_cccl/cub -IINCLUDE/cupy/_cccl/thrust -IINCLUDE/cupy/_cccl/libcudacxx --std=c++14 -IINCLUDE -ITOOLKIT " +
			"-ftz=true --device-as-default-execution-space -arch=sm_80",
	},
	{
		name: "CuPy 13, cupy/cuda/compiler.py, cooperative groups", file: "/tmp/kernel.cu", source: includeSource,
		opts: "--std=c++14 -IINCLUDE -ITOOLKIT -ftz=true --device-c --device-as-default-execution-space -arch=sm_80",
	},
	{
		name: "CuPy 13, cupy/cuda/compiler.py, CUPY_CUDA_COMPILE_WITH_DEBUG=1", file: "/nowhere/kernel.cu", source: debugSource,
		opts: "--std=c++14 -IINCLUDE -ITOOLKIT -ftz=true --device-debug --generate-line-info -arch=sm_80",
	},
	{
		name: "CuPy before 14, cupy/cuda/cupy_jitify.pyx", file: "kernel.cu", why: "option --pre-include=jitify_preinclude.h",
		opts: "--std=c++11 -DCUPY_USE_JITIFY --device-as-default-execution-space --pre-include=jitify_preinclude.h -arch=sm_80", memory: true,
	},
	{name: "cuda.core 2902578, cuda_core/cuda/core/_program.pyx", file: "default_program", opts: "-arch=sm_80"},
	{
		name: "cuda.core 2902578, cuda_core/cuda/core/_program.pyx, common options", file: "default_program", source: includeSource,
		opts: "-arch=sm_90a --relocatable-device-code=true --generate-line-info --dopt=on --ptxas-options=-v --maxrregcount=64 --ftz=true --prec-sqrt=false " +
			"--prec-div=false --fmad=true --define-macro=A=1 --undefine-macro=B --include-path=INCLUDE --std=c++17 --builtin-initializer-list=true " +
			"--disable-warnings --restrict --device-as-default-execution-space --device-int128 --no-display-error-number --diag-suppress=177 --split-compile=1 --minimal",
	},
	{
		name: "cuda.core 2902578, _program.pyx, ptxas_options", file: "default_program",
		opts: "-arch=sm_80 --ptxas-options=-O2 --ptxas-options=--warn-on-spills --ptxas-options=--sp-bounds-check --ptxas-options=--dont-merge-basicblocks",
	},
	{
		name: "cuda.core 2902578, _program.pyx, ptxas_options with line information", file: "default_program",
		opts: "-arch=sm_80 --ptxas-options=-lineinfo", why: "option --ptxas-options -lineinfo",
	},
	{name: "cuda.core 2902578, _program.pyx, for a linker", file: "default_program", opts: "-arch=sm_90 --relocatable-device-code=true --dlink-time-opt --gen-opt-lto"},
	{name: "cuda.core 2902578, _program.pyx, time", file: "default_program", opts: "-arch=sm_80 --time=-", why: "option --time=-"},
	{name: "cuda.core 2902578, _program.pyx, no_source_include", file: "default_program", opts: "-arch=sm_80 --no-source-include", why: "option --no-source-include"},
	{
		name: "numba-cuda a39ba2e, numba_cuda/numba/cuda/cudadrv/nvrtc.py", file: "shim.cu", source: includeSource,
		opts: "-arch=sm_80 --relocatable-device-code=true --include-path=INCLUDE --include-path=TOOLKIT --include-path=INCLUDE/memory_management",
	},
	{
		name: "numba-cuda a39ba2e, nvrtc.py, LTO", file: "shim.cu", source: includeSource,
		opts: "-arch=sm_80 --relocatable-device-code=true --dlink-time-opt --include-path=INCLUDE",
	},
	{
		name: "Warp f3814e7, warp/native/warp.cu", file: "module.cu", source: includeSource,
		opts: "--gpu-architecture=sm_80 --include-path=INCLUDE --std=c++17 --define-macro=NDEBUG --undefine-macro=WP_VERIFY_FP --define-macro=WP_ENABLE_MATHDX=1 " +
			"--fmad=true --include-path=TOOLKIT --device-as-default-execution-space --extra-device-vectorization --restrict",
	},
	{
		name: "Warp f3814e7, warp/native/warp.cu, MathDx", file: "module.cu", source: includeSource,
		opts: "--gpu-architecture=sm_80 --include-path=INCLUDE --std=c++17 --define-macro=NDEBUG --undefine-macro=WP_VERIFY_FP --fmad=true " +
			"--device-as-default-execution-space --extra-device-vectorization --restrict -dlto --relocatable-device-code=true",
	},
	{
		name: "Warp f3814e7, warp/native/warp.cu, debug", file: "module.cu", source: includeSource,
		opts: "--gpu-architecture=sm_80 --include-path=INCLUDE --std=c++17 --define-macro=_DEBUG --generate-line-info --fmad=false --device-as-default-execution-space",
	},
	{name: "PyTorch 002a567, aten/src/ATen/native/cuda/jit_utils.cpp", opts: "--std=c++17 --gpu-architecture=sm_80 -default-device -DNDEBUG"},
	{name: "PyTorch, torch/csrc/jit/codegen/fuser/cuda/fused_kernel.cpp", opts: "--std=c++17 --gpu-architecture=compute_80 -default-device"},
	{
		name: "nvFuser 15dc2da, csrc/runtime/compiled_kernel.cpp", file: "__tmp_kernel.cu", source: includeSource,
		opts: "--std=c++17 --diag-suppress=177 --gpu-architecture=sm_90a -default-device --fmad=true -DNDEBUG --ptxas-options --verbose --ptxas-options -O3 " +
			"--maxrregcount=128 -IINCLUDE",
	},
	{name: "nvFuser 15dc2da, compiled_kernel.cpp, no cache of NVRTC's own", file: "__tmp_kernel.cu", opts: "--std=c++17 --gpu-architecture=sm_90a -default-device --no-cache"},
	{
		name: "cuDF 099e6de, cpp/src/jit/rtc", file: "transform", source: includeSource,
		opts: "-IINCLUDE --gpu-architecture=sm_90 --diag-suppress=47 --device-int128 -std=c++20 --device-as-default-execution-space --generate-line-info --dopt=on --minimal",
	},
	{
		name: "cuDF 099e6de, cpp/src/jit/rtc, PCH", file: "transform", source: includeSource,
		opts: "-IINCLUDE --gpu-architecture=sm_90 --device-int128 -std=c++20 --generate-line-info --dopt=on --pch --pch-verbose=true --pch-messages=true",
	},
	{
		name: "cuDF before, cpp/src/jit/lto.cpp, --pch-dir", file: "lto", source: includeSource, why: "option --pch-dir=/tmp",
		opts: "-IINCLUDE --gpu-architecture=sm_90 --dlink-time-opt --relocatable-device-code=true --split-compile=0 --pch --pch-dir=/tmp",
	},
	{name: "libCEED 7bba860, backends/cuda/ceed-cuda-compile.cpp", opts: "-default-device -arch=sm_80 -Dint32_t=int"},
	{
		name: "MLX bfb34ce, mlx/backend/cuda/jit_module.cpp", file: "module.cu", memory: true, source: includeSource + "#include <other.h>\n",
		opts: "--gpu-architecture=sm_80 --include-path=INCLUDE --include-path=TOOLKIT", why: "headers in memory beside #include <other.h>",
	},
	{
		name: "LuxCore, src/luxrays/utils/cudacache.cpp", file: "kernel.cu", why: "option -Xcudafe",
		opts: "--device-as-default-execution-space --gpu-architecture=compute_80 -Xcudafe --display_error_number -Xcudafe --diag_suppress=550 --split-compile=0",
	},
}

// What projects pass at their defaults is cached, or it is known why not: a second process
// compiles nothing, and has the same bytes, which are those of a compile without the cache.
func TestOptionsOfProjects(t *testing.T) {
	t.Parallel()
	include, cuda := t.TempDir(), t.TempDir()
	const header = "#pragma once\n#include <cuda_like.h>\ninline __device__ int twice(int i) { int s = 0; for (int j = 0; j < i; j++) s += j ^ LIKE; return s; }\n"
	write(t, filepath.Join(include, "all.h"), header)
	write(t, filepath.Join(include, "other.h"), "\n")
	write(t, filepath.Join(cuda, "cuda_like.h"), "#define LIKE 3\n")
	write(t, filepath.Join(include, "cuda_like.h"), "#define LIKE 3\n")
	for _, l := range nvrtcs(t) {
		major, minor := l.Version()
		for _, p := range projects {
			t.Run(fmt.Sprintf("%d.%d/%s", major, minor, strings.ReplaceAll(p.name, "/", "|")), func(t *testing.T) {
				t.Parallel()
				pch := strings.Contains(p.opts, "--pch")
				if pch && (major < 12 || major == 12 && minor < 8) {
					t.Skipf("NOT RUN: NVRTC %d.%d has no --pch", major, minor)
				}
				// What one compile leaves counts in the next: after -w ptxas of 11.8 warns of nothing in the thread's next one.
				if (pch || strings.Contains(p.opts, "--restrict") || strings.Contains(p.opts, "--device-debug")) && inOwnProcess(t) {
					return
				}
				r := rtc.Request{Source: []byte(p.source), Name: p.file}
				if p.source == "" {
					r.Source = []byte("#define N 1\n" + plainSource)
				}
				if p.memory {
					r.Headers = []key.Header{{Name: "all.h", Content: []byte(strings.Replace(header, "#include <cuda_like.h>", "#define LIKE 3", 1))}, {Name: "jitify_preinclude.h", Content: []byte("#define J\n")}}
				}
				r.Options = strings.Fields(strings.NewReplacer("INCLUDE", include, "TOOLKIT", cuda).Replace(p.opts))
				var plain *rtc.Output
				var err error
				if !pch {
					plain, err = l.Compile(r)
				}
				if err != nil {
					if _, ok := knownSince[unknownOption(err)]; !ok {
						t.Fatalf("it refuses what it should know: %v", err)
					}
					t.Skipf("NOT RUN: NVRTC %d.%d has no %s", major, minor, unknownOption(err))
				}
				dir := cacheDir(t)
				first, why := served(t, l, dir, r)
				if !strings.Contains(why, cmp.Or(p.why, miss)) {
					t.Errorf("in an empty cache: %q", why)
				}
				second, why := served(t, l, dir, r)
				if why != "" && p.why == "" || !strings.Contains(why, p.why) {
					t.Errorf("the second process: %q, want %q", why, p.why)
				}
				if p.why == "" && (!gocmp.Equal(answers(first), answers(second), cmpopts.EquateEmpty()) || !pch && first.Log() != second.Log()) {
					t.Error("the second process has other bytes")
				}
				if pch { // what it says of precompiled header files is of one process
					if plain, err = l.Compile(r); err != nil || !sameCode(second, plain) {
						t.Errorf("not what the compiler makes of it, %v: %s", err, firstDifference(plain, second))
					}
					return
				}
				if !strings.Contains(p.opts, "--time") && !sameOutput(second, plain) {
					t.Errorf("not what the compiler makes of it: %s", firstDifference(plain, second))
				}
			})
		}
	}
}

// knownSince are options and values that not every NVRTC knows, and the first that does.
var knownSince = map[string]string{
	"--gpu-architecture": "12.0", "--std": "12.0", "--minimal": "12.4", "--split-compile": "12.4", "--gen-opt-lto": "12.0", "--time": "12.1",
	"-Xcudafe": "11.0 to 12.4", "--pch": "12.8", "--pch-verbose": "12.8", "--device-float128": "12.8", "--no-cache": "12.9", "--brief-diagnostics": "12.4",
}

var unknown = regexp.MustCompile(`(?:unrecognized option|invalid value for) (--?[A-Za-z0-9_-]+)`)

// unknownOption returns the option that NVRTC says that it does not know, or whose value it does not.
func unknownOption(err error) string {
	m := unknown.FindStringSubmatch(err.Error())
	if m == nil {
		return ""
	}
	return m[1]
}

const miss = "compiled, and stored"

// served compiles in a process of its own, as far as the cache is concerned. why says
// why the compiler was called: "" if it was not, and miss if what it made was stored.
func served(t *testing.T, l *rtc.Library, dir string, r rtc.Request) (o *rtc.Output, why string) {
	t.Helper()
	c, cache := compiler(t, l, dir)
	return servedBy(t, c, cache, r)
}

// servedBy is served of one compiler.
func servedBy(t *testing.T, c *rtc.Compiler, cache *kernstash.Cache, r rtc.Request) (o *rtc.Output, why string) {
	t.Helper()
	q, err := c.Library().Core(r)
	if err != nil {
		t.Fatal(err)
	}
	p, err := c.Context().Program(t.Context(), q)
	if err != nil {
		t.Fatal(err)
	}
	defer p.Release()
	if o, err = p.Native(0); err != nil {
		t.Fatal(err)
	}
	if !cache.Flush(3 * time.Minute) {
		t.Fatal("not stored")
	}
	if p.Origin() == kernstash.Disk {
		return o, ""
	}
	return o, cmp.Or(p.UncacheableReason(), miss)
}

// cupyPrograms are programs of each kind that CuPy 14 makes: what it puts in front, ufuncs, a
// reduction, raw kernels and modules.
var cupyPrograms = []struct {
	source string
	names  []string
	more   []string // options of the caller's
}{
	{source: "#include <carray.cuh>\ntypedef float in0_type;\nextern \"C\" __global__ void cupy_add__float32(const in0_type *a, in0_type *b, ptrdiff_t n) " +
		"{\n  CUPY_FOR(i, n) { b[i] = a[i] + b[i]; }\n}\n"},
	{source: "#include <carray.cuh>\nextern \"C\" __global__ void cupy_sqrt__float16(const float16 *a, float16 *b, ptrdiff_t n) {\n  CUPY_FOR(i, n) { b[i] = float16(sqrtf(float(a[i]))); }\n}\n"},
	{source: "#include <carray.cuh>\nextern \"C\" __global__ void cupy_sum(const float *a, float *out, ptrdiff_t n) {\n  __shared__ float s[512];\n  s[threadIdx.x] = 0;\n" +
		"  CUPY_FOR(i, n) { s[threadIdx.x] += a[i]; }\n  __syncthreads();\n  for (int k = 256; k > 0; k >>= 1) {\n    if (threadIdx.x < k) s[threadIdx.x] += s[threadIdx.x + k];\n    __syncthreads();\n  }\n" +
		"  if (threadIdx.x == 0) out[blockIdx.x] = s[0];\n}\n"},
	{source: "extern \"C\" __global__ void saxpy(int n, float s, const float *x, float *y) {\n  int i = blockIdx.x * blockDim.x + threadIdx.x;\n  int unused;\n  if (i < n) y[i] = s * x[i] + y[i];\n}\n", more: []string{"--std=c++17"}},
	{
		source: "template <typename T, int N> __global__ void poly(const T *x, T *y, int n) {\n  int i = blockIdx.x * blockDim.x + threadIdx.x;\n  T v = 0;\n" +
			"  for (int k = 0; k < N; k++) v = v * x[i] + T(k);\n  if (i < n) y[i] = v;\n}\n",
		names: []string{"poly<float, 5>", "poly<double, 3>"}, more: []string{"--std=c++17"},
	},
}

// CuPy names each program by a temporary directory that is another in each process, where
// it writes the source, and compiles an empty one to tell compilers apart: a second process
// compiles nothing.
func TestProgramsOfCuPy(t *testing.T) {
	t.Parallel()
	include := t.TempDir()
	write(t, filepath.Join(include, "carray.cuh"), "#pragma once\n#include <half.h>\n#define CUPY_FOR(i, n) for (ptrdiff_t i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += blockDim.x * gridDim.x)\n"+
		"typedef long ptrdiff_t;\ninline __device__ const char *where() { return __BASE_FILE__; } // as source_location is there, and not used\n")
	write(t, filepath.Join(include, "half.h"), "struct float16 {\n  unsigned short bits;\n  __device__ float16(float f) { asm(\"cvt.rn.f16.f32 %0, %1;\" : \"=h\"(bits) : \"f\"(f)); }\n"+
		"  __device__ operator float() const { float f; asm(\"cvt.f32.f16 %0, %1;\" : \"=f\"(f) : \"h\"(bits)); return f; }\n};\n")
	for _, l := range nvrtcs(t) {
		major, minor := l.Version()
		t.Run(fmt.Sprintf("%d.%d", major, minor), func(t *testing.T) {
			t.Parallel()
			dir := cacheDir(t)
			for process := range 3 {
				c, cache := compiler(t, l, dir)
				for i, p := range cupyPrograms {
					r := rtc.Request{Source: []byte(p.source), Expressions: p.names}
					r.Options = []string{"-I" + include + "/cupy/_cccl/cub", "-I" + include + "/cupy/_cccl/thrust", "-I" + include + "/cupy/_cccl/libcudacxx"}
					r.Options = append(r.Options, p.more...)
					if p.more == nil {
						r.Options = append(r.Options, "--std=c++14")
					}
					r.Options = append(r.Options, "-I"+include, "-ftz=true", "--device-as-default-execution-space", "-arch=sm_80")
					home := fmt.Sprintf("/tmp/tmp%d%d%02d%04x", process, i, major, os.Getpid()&0xffff)
					if err := os.Mkdir(home, 0o700); err != nil {
						t.Fatal(err)
					}
					r.Name = home + "/" + strings.Repeat("0a", 20) + ".cubin.cu"
					write(t, r.Name, p.source)
					got := compile(t, c, r)
					want, err := l.Compile(r)
					if err := os.RemoveAll(home); err != nil {
						t.Fatal(err)
					}
					if err != nil || !sameOutput(got, want) {
						t.Errorf("process %d, program %d: not what the compiler makes, %v: %s", process, i, err, firstDifference(want, got))
					}
				}
				compile(t, c, rtc.Request{Options: []string{"--std=c++14", "-I" + include, "-ftz=true", "-arch=sm_80"}})
				if !cache.Flush(3 * time.Minute) {
					t.Fatal("not stored")
				}
				n, all := cache.Stats(), int64(len(cupyPrograms)+1)
				if builds, hits := n.Get(stats.Builds), n.Get(stats.DiskHits); process == 0 && builds != all || process > 0 && (builds != 0 || hits != all) {
					t.Errorf("process %d: %d compiled, %d found", process, builds, hits)
				}
			}
		})
	}
}
