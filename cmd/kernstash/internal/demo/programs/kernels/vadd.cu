// Vector add: c = alpha * a + beta * b. A thread takes blocks of 64 elements, four
// vectors of sixteen, with the stride of the grid; what is left over goes vector by
// vector, and then element by element.
#define WIDTH 16
#define EACH 4

struct vector {
  float4 v[WIDTH / 4];
};

__device__ inline vector load(const float *__restrict__ from, unsigned i) {
  vector x;
#pragma unroll
  for (int k = 0; k < WIDTH / 4; k++)
    x.v[k] = reinterpret_cast<const float4 *>(from)[WIDTH / 4 * i + k];
  return x;
}

__device__ inline void store(float *__restrict__ to, unsigned i, vector x) {
#pragma unroll
  for (int k = 0; k < WIDTH / 4; k++)
    reinterpret_cast<float4 *>(to)[WIDTH / 4 * i + k] = x.v[k];
}

__device__ inline vector add(float alpha, vector x, float beta, vector y) {
  vector z;
#pragma unroll
  for (int k = 0; k < WIDTH / 4; k++)
    z.v[k] = make_float4(fmaf(alpha, x.v[k].x, beta * y.v[k].x), fmaf(alpha, x.v[k].y, beta * y.v[k].y),
                         fmaf(alpha, x.v[k].z, beta * y.v[k].z), fmaf(alpha, x.v[k].w, beta * y.v[k].w));
  return z;
}

extern "C" __global__ void vadd(const unsigned n, const float alpha, const float beta,
                                const float *__restrict__ a, const float *__restrict__ b,
                                float *__restrict__ c) {
  const unsigned id = blockIdx.x * blockDim.x + threadIdx.x, stride = gridDim.x * blockDim.x;
  const unsigned vectors = n / WIDTH;
  const unsigned blocks = vectors / EACH;

  for (unsigned block = id; block < blocks; block += stride) {
    vector x[EACH], y[EACH];
#pragma unroll
    for (unsigned i = 0; i < EACH; i++) {
      x[i] = load(a, EACH * block + i);
      y[i] = load(b, EACH * block + i);
    }
#pragma unroll
    for (unsigned i = 0; i < EACH; i++)
      store(c, EACH * block + i, add(alpha, x[i], beta, y[i]));
  }
  for (unsigned v = EACH * blocks + id; v < vectors; v += stride)
    store(c, v, add(alpha, load(a, v), beta, load(b, v)));
  for (unsigned i = WIDTH * vectors + id; i < n; i += stride)
    c[i] = fmaf(alpha, a[i], beta * b[i]);
}
