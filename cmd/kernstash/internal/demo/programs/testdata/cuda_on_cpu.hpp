// Runs a CUDA kernel on the host: a thread for each of a block's threads, one block
// after the other. Only what the demonstration's kernels need is here.
#include <pthread.h>

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <thread>
#include <tuple>
#include <utility>
#include <vector>

#define __global__
#define __device__
#define __shared__ static
#define __forceinline__ inline
#define __launch_bounds__(threads)
#define __align__(n) __attribute__((aligned(n)))

struct float2 {
  float x, y;
};
struct float3 {
  float x, y, z;
};
struct alignas(16) float4 {
  float x, y, z, w;
};
inline float2 make_float2(float x, float y) { return {x, y}; }
inline float3 make_float3(float x, float y, float z) { return {x, y, z}; }
inline float4 make_float4(float x, float y, float z, float w) { return {x, y, z, w}; }
inline float rsqrtf(float x) { return 1.0f / sqrtf(x); }
inline float __int_as_float(int i) {
  float f;
  memcpy(&f, &i, sizeof f);
  return f;
}

struct size {
  unsigned x = 1, y = 1, z = 1;
};
static size gridDim, blockDim;
static thread_local size blockIdx, threadIdx;

static pthread_barrier_t barrier;
inline void __syncthreads() { pthread_barrier_wait(&barrier); }

static void *take(size_t *bytes) {
  unsigned n;
  if (fread(&n, sizeof n, 1, stdin) != 1)
    exit(3);
  void *p = aligned_alloc(64, (n + 63) / 64 * 64);
  if (fread(p, 1, n, stdin) != n)
    exit(3);
  *bytes = n;
  return p;
}

template <class T> T argument(void *p) {
  T v;
  if constexpr (std::is_pointer_v<T>)
    v = static_cast<T>(p);
  else
    memcpy(&v, p, sizeof v);
  return v;
}

template <class... T, size_t... I>
void launch(void (*kernel)(T...), std::vector<void *> &args, std::index_sequence<I...>) {
  const unsigned threads = blockDim.x * blockDim.y;
  pthread_barrier_init(&barrier, nullptr, threads);
  for (unsigned block = 0; block < gridDim.x * gridDim.y; block++) {
    std::vector<std::thread> all;
    for (unsigned t = 0; t < threads; t++)
      all.emplace_back([&, t] {
        blockIdx = {block % gridDim.x, block / gridDim.x, 0};
        threadIdx = {t % blockDim.x, t / blockDim.x, 0};
        kernel(argument<T>(args[I])...);
      });
    for (auto &one : all)
      one.join();
  }
}

// run launches a kernel over the grid and the block of the command line, with arguments
// from standard input: each its bytes behind their number. They are written, in order,
// to standard output.
template <class... T> int run(void (*kernel)(T...), char **argv) {
  gridDim = {(unsigned)atoi(argv[1]), (unsigned)atoi(argv[2]), 1};
  blockDim = {(unsigned)atoi(argv[3]), (unsigned)atoi(argv[4]), 1};
  std::vector<void *> args;
  std::vector<size_t> bytes(sizeof...(T));
  for (auto &n : bytes)
    args.push_back(take(&n));
  launch(kernel, args, std::index_sequence_for<T...>());
  for (size_t i = 0; i < bytes.size(); i++)
    fwrite(args[i], 1, bytes[i], stdout);
  return 0;
}
