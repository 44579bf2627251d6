// Vector add: c = alpha * a + beta * b. A work-item takes blocks of 256
// elements, sixteen vectors of 16, with the stride of the grid; what is left over
// goes vector by vector, and then element by element.
#define WIDTH 16
#define EACH 16

inline float16 add(float alpha, float16 x, float beta, float16 y) {
  return fma((float16)(alpha), x, beta * y);
}

__kernel void vadd(const uint n, const float alpha, const float beta,
                   __global const float *restrict a,
                   __global const float *restrict b,
                   __global float *restrict c) {
  const uint id = get_global_id(0), stride = get_global_size(0);
  const uint vectors = n / WIDTH;
  const uint blocks = vectors / EACH;

  for (uint block = id; block < blocks; block += stride) {
    float16 x[EACH], y[EACH];
#pragma unroll
    for (uint i = 0; i < EACH; i++) {
      x[i] = vload16(EACH * block + i, a);
      y[i] = vload16(EACH * block + i, b);
    }
#pragma unroll
    for (uint i = 0; i < EACH; i++)
      vstore16(add(alpha, x[i], beta, y[i]), EACH * block + i, c);
  }
  for (uint v = EACH * blocks + id; v < vectors; v += stride)
    vstore16(add(alpha, vload16(v, a), beta, vload16(v, b)), v, c);
  for (uint i = WIDTH * vectors + id; i < n; i += stride)
    c[i] = fma(alpha, a[i], beta * b[i]);
}
