// Reduction: sum, sum of squares, minimum and maximum of n values, one partial of
// each for a block. Each thread walks the input with the stride of the grid, eight
// vectors of four values at a time, each into accumulators of its own, so that no
// addition waits for the one before; then the block folds what its threads have in
// shared memory, halving the width each time.
#define GROUP 128
#define WIDTH 4
#define CHAINS 8
#define INFINITE __int_as_float(0x7f800000)

struct partial {
  float sum, squares, low, high;
};

__device__ inline partial join(partial a, partial b) {
  const partial p = {a.sum + b.sum, a.squares + b.squares, fminf(a.low, b.low), fmaxf(a.high, b.high)};
  return p;
}

__device__ inline partial include(partial p, float x) {
  const partial q = {p.sum + x, fmaf(x, x, p.squares), fminf(p.low, x), fmaxf(p.high, x)};
  return q;
}

extern "C" __global__ void __launch_bounds__(GROUP)
    reduce(const unsigned n, const float *__restrict__ in, float4 *__restrict__ out) {
  __shared__ partial group[GROUP];
  const unsigned lid = threadIdx.x, id = blockIdx.x * blockDim.x + lid;
  const unsigned stride = gridDim.x * blockDim.x;
  const unsigned vectors = n / WIDTH;
  const partial nothing = {0.0f, 0.0f, INFINITE, -INFINITE};

  partial chain[CHAINS][WIDTH];
#pragma unroll
  for (unsigned c = 0; c < CHAINS; c++)
#pragma unroll
    for (unsigned k = 0; k < WIDTH; k++)
      chain[c][k] = nothing;
  for (unsigned i = CHAINS * id; i + CHAINS <= vectors; i += CHAINS * stride) {
#pragma unroll
    for (unsigned c = 0; c < CHAINS; c++) {
      const float4 x = reinterpret_cast<const float4 *>(in)[i + c];
      chain[c][0] = include(chain[c][0], x.x);
      chain[c][1] = include(chain[c][1], x.y);
      chain[c][2] = include(chain[c][2], x.z);
      chain[c][3] = include(chain[c][3], x.w);
    }
  }
  partial mine = nothing;
#pragma unroll
  for (unsigned c = 0; c < CHAINS; c++)
    mine = join(mine, join(join(chain[c][0], chain[c][1]), join(chain[c][2], chain[c][3])));
  const unsigned whole = WIDTH * (vectors - vectors % CHAINS);
  for (unsigned i = whole + id; i < n; i += stride)
    mine = include(mine, in[i]);
  group[lid] = mine;
  __syncthreads();

#pragma unroll
  for (unsigned width = GROUP / 2; width > 0; width /= 2) {
    if (lid < width)
      group[lid] = join(group[lid], group[lid + width]);
    __syncthreads();
  }

  if (lid == 0)
    out[blockIdx.x] = make_float4(group[0].sum, group[0].squares, group[0].low, group[0].high);
}
