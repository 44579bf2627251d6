// One step of the n-body problem, all pairs, by Taylor's series up to the derivative
// of the acceleration (the jerk). A block brings 128 bodies at a time into shared
// memory; a position holds the mass in w. N, a multiple of 128, SOFTENING and STEP
// come as options.
#define GROUP 128

struct force {
  float3 acc, jerk;
};

__device__ inline float3 fma3(float k, float3 a, float3 b) {
  return make_float3(fmaf(k, a.x, b.x), fmaf(k, a.y, b.y), fmaf(k, a.z, b.z));
}

__device__ inline float dot(float3 a, float3 b) { return fmaf(a.x, b.x, fmaf(a.y, b.y, a.z * b.z)); }

__device__ inline force pull(force f, float4 x, float4 v, float4 otherX, float4 otherV) {
  const float3 dx = make_float3(otherX.x - x.x, otherX.y - x.y, otherX.z - x.z);
  const float3 dv = make_float3(otherV.x - v.x, otherV.y - v.y, otherV.z - v.z);
  const float inv = rsqrtf(dot(dx, dx) + SOFTENING);
  const float inv2 = inv * inv;
  const float strength = otherX.w * inv * inv2;
  const float turn = -3.0f * dot(dx, dv) * inv2;
  f.acc = fma3(strength, dx, f.acc);
  f.jerk = fma3(strength, fma3(turn, dx, dv), f.jerk);
  return f;
}

extern "C" __global__ void __launch_bounds__(GROUP)
    nbody(const float4 *__restrict__ X, const float4 *__restrict__ V, float4 *__restrict__ newX,
          float4 *__restrict__ newV) {
  __shared__ float4 tileX[GROUP], tileV[GROUP];
  const int lid = threadIdx.x, id = blockIdx.x * GROUP + lid;
  const float4 x = X[id], v = V[id];
  force f = {};

  for (int base = 0; base < N; base += GROUP) {
    tileX[lid] = X[base + lid];
    tileV[lid] = V[base + lid];
    __syncthreads();
#pragma unroll
    for (int k = 0; k < GROUP; k++)
      f = pull(f, x, v, tileX[k], tileV[k]);
    __syncthreads();
  }

  const float3 old = make_float3(v.x, v.y, v.z), at = make_float3(x.x, x.y, x.z);
  const float3 endV = fma3(STEP, fma3(STEP / 2.0f, f.jerk, f.acc), old);
  const float3 endX = fma3(STEP, fma3(STEP / 2.0f, fma3(STEP / 3.0f, f.jerk, f.acc), old), at);
  newX[id] = make_float4(endX.x, endX.y, endX.z, x.w);
  newV[id] = make_float4(endV.x, endV.y, endV.z, 0.0f);
}
