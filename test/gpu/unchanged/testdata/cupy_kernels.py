"""A CuPy script that knows nothing of kernstash: kernels of each kind that CuPy
compiles with NVRTC, checked against NumPy. The last line tells what the first use of
all kernels took, and what the script took."""

import time

start = time.perf_counter()
import cupy as cp
import numpy as np

rng = np.random.default_rng(7)
a, b = rng.random(100_000, dtype=np.float32), rng.random(100_000, dtype=np.float32)
ga, gb = cp.asarray(a), cp.asarray(b)
cp.cuda.Device().synchronize()

first = time.perf_counter()

raw = cp.RawKernel(
    r"""
extern "C" __global__ void saxpy(int n, float s, const float *x, float *y) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = s * x[i] + y[i];
}""",
    "saxpy",
    options=("--std=c++17",),
)
y = gb.copy()
raw((391,), (256,), (np.int32(a.size), np.float32(2), ga, y))

module = cp.RawModule(
    code=r"""
template <typename T, int N> __global__ void poly(const T *x, T *y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  T v = 0;
#pragma unroll
  for (int k = 0; k < N; k++) v = v * x[i] + T(k);
  y[i] = v;
}""",
    options=("--std=c++17",),
    name_expressions=["poly<float, 4>", "poly<double, 7>"],
)
p4 = cp.empty_like(ga)
module.get_function("poly<float, 4>")((391,), (256,), (ga, p4, np.int32(a.size)))
da = ga.astype(cp.float64)
p7 = cp.empty_like(da)
module.get_function("poly<double, 7>")((391,), (256,), (da, p7, np.int32(a.size)))

elementwise = cp.ElementwiseKernel("T x, T y", "T z", "z = x * x - y", "squared_less")
z = elementwise(ga, gb)
reduction = cp.ReductionKernel("T x", "T y", "x * x", "a + b", "y = sqrt(a)", "0", "norm")
norm = reduction(ga)


@cp.fuse()
def fused(x, y):
    return cp.sin(x) * cp.cos(y) + x


f = fused(ga, gb)
sorted_ = cp.sort(ga)
total = (ga + gb).sum()
cp.cuda.Device().synchronize()
kernels = time.perf_counter() - first

np.testing.assert_allclose(cp.asnumpy(y), 2 * a + b, rtol=1e-5)
np.testing.assert_allclose(cp.asnumpy(p4), ((a * 0 + 1) * a + 2) * a + 3, rtol=1e-5)
v = np.zeros(a.shape)
for k in range(7):
    v = v * a.astype(np.float64) + k
np.testing.assert_allclose(cp.asnumpy(p7), v, rtol=1e-12)
np.testing.assert_allclose(cp.asnumpy(z), a * a - b, rtol=1e-4, atol=1e-6)
np.testing.assert_allclose(float(norm), np.linalg.norm(a.astype(np.float64)), rtol=1e-4)
np.testing.assert_allclose(cp.asnumpy(f), np.sin(a) * np.cos(b) + a, rtol=1e-4, atol=1e-6)
np.testing.assert_array_equal(cp.asnumpy(sorted_), np.sort(a))
np.testing.assert_allclose(float(total), float((a + b).sum(dtype=np.float64)), rtol=1e-4)
print(f"right; kernel there after {kernels * 1e3:.3f} ms, all {(time.perf_counter() - start) * 1e3:.3f} ms")
