// Forward FFT of many complex signals of 1024 points, one for a work-group of
// 64: Stockham's autosort algorithm, five stages of radix 4 between two
// buffers in local memory. Each work-item does four butterflies in a stage.
#define POINTS 1024
#define GROUP 64

inline float2 mul(float2 a, float2 b) {
  return (float2)(a.x * b.x - a.y * b.y, a.x * b.y + a.y * b.x);
}

inline float2 turn(float2 a, int k, int n) {
  const float angle = -2.0f * M_PI_F * (float)k / (float)n;
  float c;
  const float s = sincos(angle, &c);
  return mul(a, (float2)(c, s));
}

// One stage: span is the length of the transforms that are done already.
#define STAGE(span, from, to)                                                  \
  _Pragma("unroll")                                                            \
  for (int part = 0; part < POINTS / 4 / GROUP; part++) {                      \
    const int j = lid + part * GROUP;                                          \
    const int k = j % (span);                                                  \
    const float2 a0 = from[j];                                                 \
    const float2 a1 = turn(from[j + POINTS / 4], k, 4 * (span));               \
    const float2 a2 = turn(from[j + POINTS / 2], 2 * k, 4 * (span));           \
    const float2 a3 = turn(from[j + 3 * POINTS / 4], 3 * k, 4 * (span));       \
    const float2 b0 = a0 + a2, b1 = a0 - a2, b2 = a1 + a3;                     \
    const float2 d = a1 - a3, b3 = (float2)(d.y, -d.x);                        \
    const int at = (j - k) * 4 + k;                                            \
    to[at] = b0 + b2;                                                          \
    to[at + (span)] = b1 + b3;                                                 \
    to[at + 2 * (span)] = b0 - b2;                                             \
    to[at + 3 * (span)] = b1 - b3;                                             \
  }                                                                            \
  barrier(CLK_LOCAL_MEM_FENCE);

__attribute__((reqd_work_group_size(GROUP, 1, 1)))
__kernel void fft(__global const float2 *restrict in,
                  __global float2 *restrict out) {
  __local float2 ping[POINTS];
  __local float2 pong[POINTS];
  const int lid = get_local_id(0);
  const size_t base = get_group_id(0) * POINTS;

  for (int i = lid; i < POINTS; i += GROUP)
    ping[i] = in[base + i];
  barrier(CLK_LOCAL_MEM_FENCE);

  STAGE(1, ping, pong)
  STAGE(4, pong, ping)
  STAGE(16, ping, pong)
  STAGE(64, pong, ping)
  STAGE(256, ping, pong)

  for (int i = lid; i < POINTS; i += GROUP)
    out[base + i] = pong[i];
}
