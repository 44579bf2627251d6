// Reduction: sum, sum of squares, minimum and maximum of n values, one partial
// of each for a work-group. Each work-item walks the input with the stride of
// the grid, eight vectors of sixteen values at a time, each into accumulators of
// its own, so that no addition waits for the one before; then the group folds
// what its work-items have in local memory, halving the width each time.
#define GROUP 128
#define WIDTH 16
#define CHAINS 8

typedef struct {
  float sum, squares, low, high;
} partial;

inline partial join(partial a, partial b) {
  const partial p = {a.sum + b.sum, a.squares + b.squares, fmin(a.low, b.low),
                     fmax(a.high, b.high)};
  return p;
}

inline float plus(float a, float b) { return a + b; }

#define ACROSS(op, v)                                                          \
  op(op(op(op(v.s0, v.s1), op(v.s2, v.s3)), op(op(v.s4, v.s5), op(v.s6, v.s7))), \
     op(op(op(v.s8, v.s9), op(v.sa, v.sb)), op(op(v.sc, v.sd), op(v.se, v.sf))))

#define FOLD(width)                                                            \
  if (lid < (width))                                                           \
    group[lid] = join(group[lid], group[lid + (width)]);                       \
  barrier(CLK_LOCAL_MEM_FENCE);

__attribute__((reqd_work_group_size(GROUP, 1, 1)))
__kernel void reduce(const uint n, __global const float *restrict in,
                     __global float4 *restrict out) {
  __local partial group[GROUP];
  const uint lid = get_local_id(0);
  const uint stride = get_global_size(0);
  const uint vectors = n / WIDTH;

  float16 sum[CHAINS], squares[CHAINS], low[CHAINS], high[CHAINS];
#pragma unroll
  for (uint c = 0; c < CHAINS; c++) {
    sum[c] = squares[c] = (float16)(0.0f);
    low[c] = (float16)(INFINITY);
    high[c] = -low[c];
  }
  for (uint i = CHAINS * get_global_id(0); i + CHAINS <= vectors; i += CHAINS * stride) {
#pragma unroll
    for (uint c = 0; c < CHAINS; c++) {
      const float16 x = vload16(i + c, in);
      sum[c] += x;
      squares[c] = fma(x, x, squares[c]);
      low[c] = fmin(low[c], x);
      high[c] = fmax(high[c], x);
    }
  }
  partial mine = {0.0f, 0.0f, INFINITY, -INFINITY};
#pragma unroll
  for (uint c = 0; c < CHAINS; c++) {
    const partial chain = {ACROSS(plus, sum[c]), ACROSS(plus, squares[c]),
                           ACROSS(fmin, low[c]), ACROSS(fmax, high[c])};
    mine = join(mine, chain);
  }
  const uint whole = WIDTH * (vectors - vectors % CHAINS);
  for (uint i = whole + get_global_id(0); i < n; i += stride) {
    const partial one = {in[i], in[i] * in[i], in[i], in[i]};
    mine = join(mine, one);
  }
  group[lid] = mine;
  barrier(CLK_LOCAL_MEM_FENCE);

  FOLD(64)
  FOLD(32)
  FOLD(16)
  FOLD(8)
  FOLD(4)
  FOLD(2)
  FOLD(1)

  if (lid == 0)
    out[get_group_id(0)] = (float4)(group[0].sum, group[0].squares,
                                    group[0].low, group[0].high);
}
