"""Starts programs that no other test names, with their defaults, alone and twice under `kernstash run`:
linker.py KERNSTASH [NAME...]. HOME is new for each start, so nothing is warm but kernstash's cache; nothing else is set
but functions that NumPy 2.5 no longer has and numba-cuda 0.30 asks for. It prints what the second start compiled and found and why, and fails where results differ, nothing was asked of
the cache, or the second start compiled what the first had.
"""

import hashlib
import json
import math
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import time

AXPY = r"""
extern "C" __device__ float scaled(float a, float x);
extern "C" __global__ void axpy(float a, const float *x, float *y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] += scaled(a, x[i]);
}"""
SCALED = r"""extern "C" __device__ float scaled(float a, float x) { return a * x + sinf(x) * 1e-3f; }"""
LOOP = r"""
template <typename T, int N> __global__ void powers(const T *x, T *y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  T v = 1;
#pragma unroll
  for (int k = 0; k < N; k++) v = v * x[i] + sin(v);
  y[i] = v;
}"""
# Shaped as what DeepGEMM generates: a header of the toolkit, a template, and a function that makes an instance of it.
GEMM = r"""
#include <cuda_bf16.h>
#include <cuda/std/cstdint>
template <cuda::std::uint32_t M, cuda::std::uint32_t N, cuda::std::uint32_t K>
__global__ void gemm(const __nv_bfloat16 *a, const __nv_bfloat16 *b, float *d) {
  cuda::std::uint32_t row = blockIdx.x, column = threadIdx.x;
  float total = 0;
#pragma unroll 8
  for (cuda::std::uint32_t k = 0; k < K; k++) total += __bfloat162float(a[row * K + k]) * __bfloat162float(b[k * N + column]);
  if (row < M && column < N) d[row * N + column] = total;
}
static void __instantiate_kernel() { auto ptr = reinterpret_cast<void *>(&gemm<64, 128, 256>); (void)ptr; }
"""

def toolkit():
    return next(p for p in ("/usr/local/cuda", "/usr/lib/cuda") if os.path.isdir(p))


def architecture():
    from cuda.core import Device

    device = Device()
    device.set_current()
    return "sm_%d%d" % (device.compute_capability.major, device.compute_capability.minor)


def torch_arrays(n=1 << 16):
    import torch

    x = torch.linspace(0, 1, n, device="cuda")
    y = torch.ones(n, device="cuda")
    torch.cuda.synchronize()
    return x, y


def launched(kernel, *arguments, blocks=256, threads=256):
    from cuda.core import Device, LaunchConfig, launch

    stream = Device().create_stream()
    launch(stream, LaunchConfig(grid=blocks, block=threads), kernel, *arguments)
    stream.sync()


def core_program():
    """cuda.core's Program, to machine code, with a name of a template; and to PTX."""
    import numpy as np
    from cuda.core import Program, ProgramOptions

    arch = architecture()
    x, y = torch_arrays()
    yield
    program = Program(LOOP, "c++", ProgramOptions(std="c++17", arch=arch))
    code = program.compile("cubin", name_expressions=("powers<float, 30>", "powers<double, 20>"))
    launched(code.get_kernel("powers<float, 30>"), x.data_ptr(), y.data_ptr(), np.int32(y.numel()))
    yield y, Program(LOOP + "\ntemplate __global__ void powers<float, 9>(const float *, float *, int);", "c++", ProgramOptions(arch=arch)).compile("ptx").code


def linked(kind, **more):
    import numpy as np
    from cuda.core import Linker, LinkerOptions, Program, ProgramOptions

    arch = architecture()
    x, y = torch_arrays()
    yield
    options = ProgramOptions(arch=arch, relocatable_device_code=True, **more)
    parts = [Program(source, "c++", options).compile(kind) for source in (AXPY, SCALED)]
    code = Linker(*parts, options=LinkerOptions(arch=arch, **more)).link("cubin")
    launched(code.get_kernel("axpy"), np.float32(2), x.data_ptr(), y.data_ptr(), np.int32(y.numel()))
    yield y, code.code


def core_linker():
    """cuda.core's Linker, of two pieces of PTX."""
    yield from linked("ptx")


def core_linker_lto():
    """cuda.core's Linker, of two pieces of LTO IR."""
    yield from linked("ltoir", link_time_optimization=True)


def core_ptx():
    """cuda.core's Program, of PTX, which it has a linker make machine code of."""
    from cuda.core import Program, ProgramOptions

    arch = architecture()
    ptx = ".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry nothing() { ret; }\n"
    yield
    code = Program(ptx, "ptx", ProgramOptions(arch=arch)).compile("cubin")
    launched(code.get_kernel("nothing"))
    yield None, code.code


def numba():
    """numba-cuda: two functions, one that calls functions of libdevice, and one that calls CUDA C++."""
    import warnings

    import numpy

    for gone, like in ("row_stack", numpy.vstack), ("in1d", numpy.isin), ("trapz", numpy.trapezoid):
        if not hasattr(numpy, gone):
            setattr(numpy, gone, like)
    from numba import cuda, float32, types

    warnings.simplefilter("ignore")
    x, y = torch_arrays()
    tripled = cuda.declare_device("tripled", types.float32(types.float32), link=cuda.CUSource(
        'extern "C" __device__ int tripled(float *out, float x) { *out = 3 * x; return 0; }'))  # fmt: skip

    @cuda.jit
    def waves(x, y):
        i = cuda.grid(1)
        if i < x.size:
            y[i] = math.sin(x[i]) + math.exp(-x[i])

    @cuda.jit
    def sums(x, y):
        shared = cuda.shared.array(256, float32)
        i, t = cuda.grid(1), cuda.threadIdx.x
        shared[t] = tripled(x[i])
        cuda.syncthreads()
        y[i] += shared[255 - t]

    yield
    waves[256, 256](x, y)
    sums[256, 256](x, y)
    cuda.synchronize()
    yield y, b""


def torch_kernel():
    """PyTorch: _compile_kernel, and the jiterator."""
    import torch

    x, y = torch_arrays()
    yield
    kernel = torch.cuda._compile_kernel(
        "__global__ void twice(const float *x, float *y, int n) { int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n) y[i] = 2 * x[i]; }",
        "twice",
    )
    kernel((256, 1, 1), (256, 1, 1), (x, y, y.numel()))
    f = torch.cuda.jiterator._create_jit_fn("template <typename T> T f(T x, T y) { return x * y + exp(-x * x); }")
    yield f(x, y) + torch.special.bessel_j0(x), b""


def deepgemm_nvrtc():
    """NVRTC with DeepGEMM's options, by cuda.bindings."""
    from cuda.bindings import nvrtc
    from cuda.core import ObjectCode

    architecture()
    inputs = matrices()
    include = toolkit() + "/include"
    options = ("-std=c++20 --diag-suppress=39,161,174,177,186,940 --ptxas-options=--register-usage-level=10 "
               "-I%s -I%s/cccl --gpu-architecture=sm_90a -default-device --pch --device-int128" % (include, include)).encode().split()  # fmt: skip
    yield

    def must(outcome):
        status, *rest = outcome
        assert status == nvrtc.nvrtcResult.NVRTC_SUCCESS, status
        return rest[0] if rest else None

    program = must(nvrtc.nvrtcCreateProgram(GEMM.encode(), b"kernel.cu", 0, [], []))
    status = nvrtc.nvrtcCompileProgram(program, len(options), options)[0]
    if status != nvrtc.nvrtcResult.NVRTC_SUCCESS:
        log = b" " * must(nvrtc.nvrtcGetProgramLogSize(program))
        nvrtc.nvrtcGetProgramLog(program, log)
        sys.exit(log.decode())
    code = b" " * must(nvrtc.nvrtcGetCUBINSize(program))
    must(nvrtc.nvrtcGetCUBIN(program, code))
    yield gemm(ObjectCode.from_cubin(code), inputs), code


def deepgemm_nvcc():
    """nvcc -cubin with DeepGEMM's options, the source at one path, the output at another each time."""
    from cuda.core import ObjectCode

    architecture()
    inputs = matrices()
    source, directory = pathlib.Path("deep_gemm", "kernel.cu").absolute(), pathlib.Path(tempfile.mkdtemp())
    source.parent.mkdir(exist_ok=True)
    source.write_text(GEMM.replace("<cuda/std/cstdint>", "<cstdint>").replace("cuda::std::", ""))
    yield
    subprocess.run([
        toolkit() + "/bin/nvcc", source, "-cubin", "-o", directory / "kernel.cubin", "-std=c++20",
        "--diag-suppress=39,161,174,177,186,940", "--ptxas-options=--register-usage-level=10", "--gpu-architecture=sm_90a",
        "--compiler-options=-fPIC,-O3,-fconcepts,-Wno-deprecated-declarations,-Wno-abi", "-O3", "--expt-relaxed-constexpr", "--expt-extended-lambda",
    ], check=True, capture_output=True)  # fmt: skip
    code = (directory / "kernel.cubin").read_bytes()
    yield gemm(ObjectCode.from_cubin(code), inputs), code


def matrices():
    """Returns two matrices, and their product."""
    import torch

    torch.manual_seed(1)
    a = torch.randn(64, 256, device="cuda", dtype=torch.bfloat16)
    b = torch.randn(256, 128, device="cuda", dtype=torch.bfloat16)
    want = a.float() @ b.float()
    torch.cuda.synchronize()
    return a, b, want


def gemm(module, inputs):
    import re

    import torch

    a, b, want = inputs
    d = torch.empty(64, 128, device="cuda")
    name = re.search(rb"_Z4gemm[A-Za-z0-9_]+?(?=\0)", bytes(module.code)).group().decode()
    launched(module.get_kernel(name), a.data_ptr(), b.data_ptr(), d.data_ptr(), blocks=64, threads=128)
    torch.testing.assert_close(d, want, atol=0.1, rtol=0.02)
    return d


PROGRAMS = {f.__name__: f for f in (core_program, core_linker, core_linker_lto, core_ptx, numba, torch_kernel, deepgemm_nvrtc, deepgemm_nvcc)}
# What each must have asked for at least.
ASKED = {"core_program": 2, "core_linker": 3, "core_linker_lto": 3, "core_ptx": 1, "numba": 3, "torch_kernel": 3, "deepgemm_nvrtc": 1, "deepgemm_nvcc": 1}


def child(name):
    """Runs a program, and prints how long it took from the first request until what it computes is there, and a digest."""
    parts = PROGRAMS[name]()
    next(parts)
    begun = time.perf_counter()
    numbers, code = next(parts)
    digest = hashlib.sha256(numbers.cpu().numpy().tobytes() if numbers is not None else b"")
    took = time.perf_counter() - begun
    digest.update(bytes(code))
    print("%.3f %s" % (took, digest.hexdigest()))


def main(kernstash, names):
    scratch = pathlib.Path(tempfile.mkdtemp(prefix="kernstash-linker-"))
    failed = []

    def start(name, cache=None):
        home = pathlib.Path(tempfile.mkdtemp(dir=scratch))
        mine = ("KERNSTASH_", "XDG_", "CUDA_CACHE_", "NUMBA_")
        env = {k: v for k, v in os.environ.items() if not k.startswith(mine)}
        env.update(HOME=str(home), KERNSTASH_WORKER="off", KERNSTASH_DIR=str(cache) if cache else "/nonexistent")
        under = [kernstash, "run", "-q", "--report-file", home / "report.json", "--"] if cache else []
        done = subprocess.run([*map(str, under), sys.executable, __file__, "--child", name], env=env, cwd=scratch, capture_output=True, text=True)
        if done.returncode != 0:
            raise RuntimeError("exit status %d: %s" % (done.returncode, (done.stdout + done.stderr)[-1500:]))
        seconds, digest = done.stdout.split()[-2:]
        return float(seconds), digest, json.loads((home / "report.json").read_text()) if cache else None

    def check(what, right):
        if not right:
            failed.append(what)
            print("FAILED: " + what, flush=True)

    print("| seconds to the numbers | no cache | kernstash, empty | kernstash, warm | asked | found | compiled | passed |\n|---|--:|--:|--:|--:|--:|--:|--:|")
    for name in names or PROGRAMS:
        what = PROGRAMS[name].__doc__.splitlines()[0].rstrip(".")
        try:
            plain = start(name)
            cache = tempfile.mkdtemp(dir=scratch)
            first, second = start(name, cache), start(name, cache)
        except RuntimeError as err:
            check("%s: %s" % (name, err), False)
            continue
        programs = second[2]["programs"]
        found = programs.get("disk", 0) + programs.get("memory", 0)
        print("| %s | %.3f | %.3f | %.3f | %d | %d | %d | %d |" % (
            what, plain[0], first[0], second[0], programs.get("asked", 0), found, programs.get("compiled", 0), programs.get("passed", 0)), flush=True)  # fmt: skip
        for which, report in ("first", first[2]), ("second", second[2]):
            for because in ("compiled_because", "passed_because", "entries"):
                if report.get(because):
                    print("# %s, %s: %s: %s" % (name, which, because, report[because]))
        for request in second[2].get("requests", []):
            print("# %s, second: %s" % (name, {k: request[k] for k in ("label", "outcome", "times", "spent_ms", "reason") if k in request}))
        if plain[1] != first[1]:  # the compiler may not be deterministic: is it so by itself?
            check(name + ": results are equal", start(name)[1] != plain[1] and first[1] == second[1])
        check(name + ": both starts have the same", first[1] == second[1])
        check("%s: at least %d programs are asked for" % (name, ASKED[name]), programs.get("asked", 0) >= ASKED[name])
        check(name + ": the second start compiles nothing", programs.get("compiled", 0) == 0)
    shutil.rmtree(scratch, ignore_errors=True)
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    child(sys.argv[2]) if sys.argv[1] == "--child" else main(os.path.abspath(sys.argv[1]), sys.argv[2:])
