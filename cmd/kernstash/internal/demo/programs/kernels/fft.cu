// Forward FFT of many complex signals of 1024 points, one for a block of 64:
// Stockham's autosort algorithm, five stages of radix 4 between two buffers in
// shared memory. Each thread does four butterflies in a stage.
#define POINTS 1024
#define GROUP 64

__device__ inline float2 operator+(float2 a, float2 b) { return make_float2(a.x + b.x, a.y + b.y); }
__device__ inline float2 operator-(float2 a, float2 b) { return make_float2(a.x - b.x, a.y - b.y); }

__device__ inline float2 mul(float2 a, float2 b) {
  return make_float2(a.x * b.x - a.y * b.y, a.x * b.y + a.y * b.x);
}

__device__ inline float2 turn(float2 a, int k, int n) {
  const float angle = -2.0f * 3.14159265358979f * (float)k / (float)n;
  float s, c;
  sincosf(angle, &s, &c);
  return mul(a, make_float2(c, s));
}

// One stage: span is the length of the transforms that are done already.
template <int span> __device__ inline void stage(const float2 *from, float2 *to, int lid) {
#pragma unroll
  for (int part = 0; part < POINTS / 4 / GROUP; part++) {
    const int j = lid + part * GROUP;
    const int k = j % span;
    const float2 a0 = from[j];
    const float2 a1 = turn(from[j + POINTS / 4], k, 4 * span);
    const float2 a2 = turn(from[j + POINTS / 2], 2 * k, 4 * span);
    const float2 a3 = turn(from[j + 3 * POINTS / 4], 3 * k, 4 * span);
    const float2 b0 = a0 + a2, b1 = a0 - a2, b2 = a1 + a3;
    const float2 d = a1 - a3, b3 = make_float2(d.y, -d.x);
    const int at = (j - k) * 4 + k;
    to[at] = b0 + b2;
    to[at + span] = b1 + b3;
    to[at + 2 * span] = b0 - b2;
    to[at + 3 * span] = b1 - b3;
  }
  __syncthreads();
}

extern "C" __global__ void __launch_bounds__(GROUP)
    fft(const float2 *__restrict__ in, float2 *__restrict__ out) {
  __shared__ float2 ping[POINTS];
  __shared__ float2 pong[POINTS];
  const int lid = threadIdx.x;
  const int base = blockIdx.x * POINTS;

  for (int i = lid; i < POINTS; i += GROUP)
    ping[i] = in[base + i];
  __syncthreads();

  stage<1>(ping, pong, lid);
  stage<4>(pong, ping, lid);
  stage<16>(ping, pong, lid);
  stage<64>(pong, ping, lid);
  stage<256>(ping, pong, lid);

  for (int i = lid; i < POINTS; i += GROUP)
    out[base + i] = pong[i];
}
