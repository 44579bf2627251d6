// Matrix product C = A * B of square row-major matrices. A work-group of 8 by
// 8 makes a tile of 32 by 32: each work-item 4 by 4 of it, in registers, from
// tiles of A and B in local memory. N, a multiple of 32, comes as an option.
#define TILE 32
#define DEPTH 32
#define EACH 4
#define LOCAL (TILE / EACH)

__attribute__((reqd_work_group_size(LOCAL, LOCAL, 1)))
__kernel void matmul(__global const float *restrict A,
                     __global const float *restrict B,
                     __global float *restrict C) {
  __local float tileA[DEPTH][TILE];
  __local float tileB[DEPTH][TILE];

  const int lx = get_local_id(0), ly = get_local_id(1);
  const int col0 = get_group_id(0) * TILE, row0 = get_group_id(1) * TILE;
  const int lid = ly * LOCAL + lx;

  float4 acc[EACH];
  for (int i = 0; i < EACH; i++)
    acc[i] = (float4)(0.0f);

  for (int k0 = 0; k0 < N; k0 += DEPTH) {
    // The work-items bring both tiles, four values at a time.
    for (int part = 0; part < DEPTH * TILE / 4 / (LOCAL * LOCAL); part++) {
      const int q = lid + part * LOCAL * LOCAL;
      const int r = q / (DEPTH / 4), c = 4 * (q % (DEPTH / 4));
      const float4 a = vload4(0, A + (row0 + r) * N + k0 + c);
      tileA[c + 0][r] = a.x;
      tileA[c + 1][r] = a.y;
      tileA[c + 2][r] = a.z;
      tileA[c + 3][r] = a.w;
      const int br = q / (TILE / 4), bc = 4 * (q % (TILE / 4));
      vstore4(vload4(0, B + (k0 + br) * N + col0 + bc), 0, &tileB[br][bc]);
    }
    barrier(CLK_LOCAL_MEM_FENCE);

#pragma unroll
    for (int k = 0; k < DEPTH; k++) {
      const float4 a = vload4(ly, tileA[k]);
      const float4 b = vload4(lx, tileB[k]);
      acc[0] = fma((float4)(a.x), b, acc[0]);
      acc[1] = fma((float4)(a.y), b, acc[1]);
      acc[2] = fma((float4)(a.z), b, acc[2]);
      acc[3] = fma((float4)(a.w), b, acc[3]);
    }
    barrier(CLK_LOCAL_MEM_FENCE);
  }

  for (int i = 0; i < EACH; i++)
    vstore4(acc[i], 0, C + (row0 + EACH * ly + i) * N + col0 + EACH * lx);
}
