"""A PyTorch script that knows nothing of kernstash: operators that PyTorch compiles
with NVRTC (the jiterator, and special functions that use it), checked against the CPU.
The last line tells what the first use of all of them took, and what the script took."""

import time

start = time.perf_counter()
import torch

torch.manual_seed(7)
x, y = torch.rand(100_000), torch.rand(100_000)
gx, gy = x.cuda(), y.cuda()
torch.cuda.synchronize()

first = time.perf_counter()
gelu_like = torch.cuda.jiterator._create_jit_fn(
    "template <typename T> T gelu_like(T x, T y, T s) { return x * (T(1) + tanh(s * y)) / T(2); }", s=1.0
)
swap = torch.cuda.jiterator._create_multi_output_jit_fn(
    "template <typename T> void swap(T x, T y, T &a, T &b) { a = y - x; b = x * y; }", num_outputs=2
)
g = gelu_like(gx, gy, s=0.5)
a, b = swap(gx, gy)
i = torch.special.i0(gx)
e = torch.special.bessel_j0(gx)
torch.cuda.synchronize()
kernels = time.perf_counter() - first

torch.testing.assert_close(g.cpu(), x * (1 + torch.tanh(0.5 * y)) / 2, rtol=1e-5, atol=1e-6)
torch.testing.assert_close(a.cpu(), y - x)
torch.testing.assert_close(b.cpu(), x * y)
torch.testing.assert_close(i.cpu(), torch.special.i0(x), rtol=1e-4, atol=1e-5)
torch.testing.assert_close(e.cpu(), torch.special.bessel_j0(x), rtol=1e-4, atol=1e-5)
print(f"right; kernel there after {kernels * 1e3:.3f} ms, all {(time.perf_counter() - start) * 1e3:.3f} ms")
