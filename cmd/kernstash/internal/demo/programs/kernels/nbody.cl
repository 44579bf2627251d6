// One step of the n-body problem, all pairs, by Taylor's series up to the
// derivative of the acceleration (the jerk). A work-group brings 128 bodies at a
// time into local memory; a position holds the mass in w. N, a multiple of 128,
// SOFTENING and STEP come as options.
#define GROUP 128

typedef struct {
  float3 acc, jerk;
} force;

inline force pull(force f, float3 x, float3 v, float4 otherX, float4 otherV) {
  const float3 dx = otherX.xyz - x;
  const float3 dv = otherV.xyz - v;
  const float inv = rsqrt(dot(dx, dx) + SOFTENING);
  const float inv2 = inv * inv;
  const float strength = otherX.w * inv * inv2;
  const float turn = -3.0f * dot(dx, dv) * inv2;
  f.acc = fma((float3)(strength), dx, f.acc);
  f.jerk = fma((float3)(strength), fma((float3)(turn), dx, dv), f.jerk);
  return f;
}

__attribute__((reqd_work_group_size(GROUP, 1, 1)))
__kernel void nbody(__global const float4 *restrict X,
                    __global const float4 *restrict V,
                    __global float4 *restrict newX,
                    __global float4 *restrict newV) {
  __local float4 tileX[GROUP], tileV[GROUP];
  const int id = get_global_id(0), lid = get_local_id(0);
  const float4 x = X[id];
  const float3 v = V[id].xyz;
  force f = {(float3)(0.0f), (float3)(0.0f)};

  for (int base = 0; base < N; base += GROUP) {
    tileX[lid] = X[base + lid];
    tileV[lid] = V[base + lid];
    barrier(CLK_LOCAL_MEM_FENCE);
#pragma unroll
    for (int k = 0; k < GROUP; k++)
      f = pull(f, x.xyz, v, tileX[k], tileV[k]);
    barrier(CLK_LOCAL_MEM_FENCE);
  }

  const float3 endV = v + STEP * (f.acc + (STEP / 2.0f) * f.jerk);
  const float3 endX =
      x.xyz + STEP * (v + (STEP / 2.0f) * (f.acc + (STEP / 3.0f) * f.jerk));
  newX[id] = (float4)(endX, x.w);
  newV[id] = (float4)(endV, 0.0f);
}
