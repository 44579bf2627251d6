"""Builds a PyTorch extension, one file of CUDA C++ with CUB and one of C++, in one directory again
and again: without a cache, under `kernstash run`, and by ccache where there is one. It prints what
nvcc, the C++ compiler and the linker took, by ninja's log, and fails where a number that the
extension computes is wrong, or a warm build starts a compiler of NVIDIA's.

    extension.py KERNSTASH [CCACHE]

What is set: TORCH_EXTENSIONS_DIR, so that the directory may be emptied; MAX_JOBS=1, so that steps do
not slow each other down; TORCH_NO_COMPILER_WRAPPER, as PyTorch 2.14 starts compilers by a ccache in PATH; KERNSTASH_DIR; for ccache PYTORCH_NVCC, CXX and CCACHE_DIR.
"""

import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

CUDA = r"""
#include <cub/cub.cuh>
#include <torch/extension.h>
#include "scale.cuh"

__global__ void sum_kernel(const float *in, float *out, int n) {
  using Reduce = cub::BlockReduce<float, 256>;
  __shared__ typename Reduce::TempStorage storage;
  int i = blockIdx.x * 256 + threadIdx.x;
  float sum = Reduce(storage).Sum(i < n ? in[i] * SCALE : 0);
  if (threadIdx.x == 0) out[blockIdx.x] = sum;
}

torch::Tensor sums(torch::Tensor in) {
  int n = in.numel(), blocks = (n + 255) / 256;
  auto out = torch::empty({blocks}, in.options());
  sum_kernel<<<blocks, 256>>>(in.data_ptr<float>(), out.data_ptr<float>(), n);
  return out;
}

torch::Tensor sorted(torch::Tensor in) {
  auto out = torch::empty_like(in);
  size_t size = 0;
  cub::DeviceRadixSort::SortKeys(nullptr, size, in.data_ptr<float>(), out.data_ptr<float>(), in.numel());
  auto room = torch::empty({(long)size}, in.options().dtype(torch::kUInt8));
  cub::DeviceRadixSort::SortKeys(room.data_ptr(), size, in.data_ptr<float>(), out.data_ptr<float>(), in.numel());
  return out;
}
"""
CXX = r"""
#include <torch/extension.h>
torch::Tensor sums(torch::Tensor), sorted(torch::Tensor);
PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("sums", &sums); m.def("sorted", &sorted); }
"""


def child(sources):
    """Is the application: it builds, loads and uses the extension."""
    import torch
    from torch.utils import cpp_extension

    start = time.perf_counter()
    names = [os.path.join(sources, name) for name in ("kernels.cu", "module.cpp")]
    module = cpp_extension.load(name="summed", sources=names)
    took = time.perf_counter() - start
    x = torch.rand(100_000, device="cuda")
    want = torch.nn.functional.pad(2 * x, (0, -100_000 % 256)).reshape(-1, 256).sum(1)
    assert torch.allclose(module.sums(x), want, rtol=1e-4)
    assert torch.equal(module.sorted(x), torch.sort(x).values)
    print(f"right {took}")


class Bench:
    def __init__(self, kernstash, ccache):
        self.kernstash, self.ccache = kernstash, ccache
        self.dir = tempfile.mkdtemp(prefix="kernstash-extension-")
        self.sources, self.build = self.dir + "/sources", self.dir + "/build"
        os.mkdir(self.sources)
        self.write("kernels.cu", CUDA)
        self.write("module.cpp", CXX)
        self.write("scale.cuh", "#define SCALE 2.0f\n")

    def write(self, name, text):
        with open(os.path.join(self.sources, name), "w") as f:
            f.write(text)

    def steps(self):
        """Returns what each of ninja's last steps took, seconds, by the end of the output's name."""
        took = {}
        with open(self.build + "/summed/.ninja_log") as f:
            for line in f.readlines()[1:]:
                start, end, _, output, _ = line.split("\t")
                kind = "nvcc" if output.endswith(".cuda.o") else "c++" if output.endswith(".o") else "link"
                took[kind] = (int(end) - int(start)) / 1000
        return took

    def run(self, what, empty=True, run=(), variables=None):
        if empty:
            shutil.rmtree(self.build, ignore_errors=True)
            os.mkdir(self.build)
        env = dict(os.environ, TORCH_EXTENSIONS_DIR=self.build, MAX_JOBS="1", TORCH_NO_COMPILER_WRAPPER="1", KERNSTASH_DIR=self.dir + "/root", **variables or {})
        report = self.dir + "/report.json"
        command = [*run, sys.executable, __file__, "--child", self.sources]
        if run:
            command = [run[0], "run", "--quiet", "--report-file", report, "--", *command[1:]]
        done = subprocess.run(command, env=env, capture_output=True, text=True)
        if done.returncode != 0 or not done.stdout.splitlines()[-1].startswith("right "):
            sys.exit(f"{what}: exit status {done.returncode}\n{done.stdout}\n{done.stderr}")
        took = self.steps()
        took["all"] = float(done.stdout.split()[-1])
        if run:
            with open(report) as f:
                told = json.load(f)
            took["programs"] = told["programs"]
            for because in ("compiled_because", "passed_because"):
                if told[because]:
                    print(f"# {what}: {because}: {told[because]}", flush=True)
        return took

    def row(self, what, times, **how):
        runs = [self.run(what, **how) for _ in range(times)]
        cells = [statistics.median(r.get(k, float("nan")) for r in runs) for k in ("nvcc", "c++", "link", "all")]
        programs = runs[-1].get("programs", {})
        compiled = f"{programs.get('compiled', 0)} / {programs.get('disk', 0)}" if programs else ""
        print(f"| {what} | {compiled} | " + " | ".join(f"{c:.2f}" for c in cells) + " |", flush=True)
        return cells[0], programs


def main():
    b = Bench(sys.argv[1], sys.argv[2] if len(sys.argv) > 2 else None)
    failed = []
    print(f"# Linux {os.uname().release}, python {sys.version.split()[0]}", flush=True)  # gVisor, say, does not let nvcc be watched
    try:
        print("| an extension of PyTorch with CUB | compiled / found | nvcc, s | c++, s | link, s | load(), s |\n|---|--:|--:|--:|--:|--:|")
        plain, _ = b.row("no cache", 1)
        if b.ccache:
            nvcc = shutil.which("nvcc") or "/usr/local/cuda/bin/nvcc"
            cxx = b.sources + "/c++"  # PyTorch 2.14 takes CXX as one path
            with open(cxx, "w") as f:
                f.write(f'#!/bin/sh\nexec "{b.ccache}" c++ "$@"\n')
            os.chmod(cxx, 0o755)
            by_ccache = {"PYTORCH_NVCC": f"{b.ccache} {nvcc}", "CXX": cxx, "CCACHE_DIR": b.dir + "/ccache"}
            b.row("ccache, empty", 1, variables=by_ccache)
            b.row("ccache, warm", 2, variables=by_ccache)
        b.row("kernstash, empty", 1, run=[b.kernstash])
        warm, programs = b.row("kernstash, warm", 2, run=[b.kernstash])
        if programs.get("compiled", 1) + programs.get("passed", 0) > 0 or programs.get("disk", 0) == 0:
            failed.append(f"a warm build was not served: {programs}")
        os.utime(b.sources + "/scale.cuh")
        _, programs = b.row("kernstash, a header touched", 1, run=[b.kernstash], empty=False)
        if programs.get("compiled", 1) > 0 or programs.get("disk", 0) == 0:
            failed.append(f"a touched header was compiled again: {programs}")
        b.write("scale.cuh", "#define SCALE 4.0f / 2.0f\n")
        _, programs = b.row("kernstash, a header changed", 1, run=[b.kernstash])
        if programs.get("compiled", 0) == 0:
            failed.append(f"a changed header was not compiled: {programs}")
        print(f"\nnvcc's step: {plain / warm:.0f} × faster than without a cache")
        if plain / warm < 15:
            failed.append("nvcc's step is not 15 times as fast")
    finally:
        shutil.rmtree(b.dir)
    sys.exit("\n".join("FAILED: " + f for f in failed) or 0)


if __name__ == "__main__":
    child(sys.argv[2]) if sys.argv[1] == "--child" else main()
