// Matrix product C = A * B of square row-major matrices. A block of 8 by 8 makes a
// tile of 32 by 32: each thread 4 by 4 of it, in registers, from tiles of A and B in
// shared memory. N, a multiple of 32, comes as an option.
#define TILE 32
#define DEPTH 32
#define EACH 4
#define LOCAL (TILE / EACH)

__device__ inline float4 load(const float *from) { return *reinterpret_cast<const float4 *>(from); }
__device__ inline void store(float *to, float4 v) { *reinterpret_cast<float4 *>(to) = v; }

__device__ inline float4 fma4(float k, float4 a, float4 b) {
  return make_float4(fmaf(k, a.x, b.x), fmaf(k, a.y, b.y), fmaf(k, a.z, b.z), fmaf(k, a.w, b.w));
}

extern "C" __global__ void __launch_bounds__(LOCAL *LOCAL)
    matmul(const float *__restrict__ A, const float *__restrict__ B, float *__restrict__ C) {
  __shared__ __align__(16) float tileA[DEPTH][TILE];
  __shared__ __align__(16) float tileB[DEPTH][TILE];

  const int lx = threadIdx.x, ly = threadIdx.y;
  const int col0 = blockIdx.x * TILE, row0 = blockIdx.y * TILE;
  const int lid = ly * LOCAL + lx;

  float4 acc[EACH] = {};

  for (int k0 = 0; k0 < N; k0 += DEPTH) {
    // The threads bring both tiles, four values at a time.
    for (int part = 0; part < DEPTH * TILE / 4 / (LOCAL * LOCAL); part++) {
      const int q = lid + part * LOCAL * LOCAL;
      const int r = q / (DEPTH / 4), c = 4 * (q % (DEPTH / 4));
      const float4 a = load(A + (row0 + r) * N + k0 + c);
      tileA[c + 0][r] = a.x;
      tileA[c + 1][r] = a.y;
      tileA[c + 2][r] = a.z;
      tileA[c + 3][r] = a.w;
      const int br = q / (TILE / 4), bc = 4 * (q % (TILE / 4));
      store(&tileB[br][bc], load(B + (k0 + br) * N + col0 + bc));
    }
    __syncthreads();

#pragma unroll
    for (int k = 0; k < DEPTH; k++) {
      const float4 a = load(&tileA[k][EACH * ly]);
      const float4 b = load(&tileB[k][EACH * lx]);
      acc[0] = fma4(a.x, b, acc[0]);
      acc[1] = fma4(a.y, b, acc[1]);
      acc[2] = fma4(a.z, b, acc[2]);
      acc[3] = fma4(a.w, b, acc[3]);
    }
    __syncthreads();
  }

  for (int i = 0; i < EACH; i++)
    store(C + (row0 + EACH * ly + i) * N + col0 + EACH * lx, acc[i]);
}
