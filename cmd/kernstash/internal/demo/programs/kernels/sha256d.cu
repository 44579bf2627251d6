// SHA-256 of SHA-256 of many messages of 80 bytes (what secures a block of a
// well-known chain): three compressions for a message, each of 64 rounds that
// are written out, with the message schedule kept in sixteen registers.
typedef unsigned uint;

#define ROTR(x, n) (((x) >> (n)) | ((x) << (32 - (n))))
#define CH(x, y, z) (((x) & (y)) | (~(x) & (z)))
#define MAJ(x, y, z) (((x) & (y)) | ((z) & ((x) | (y))))
#define S0(x) (ROTR(x, 2) ^ ROTR(x, 13) ^ ROTR(x, 22))
#define S1(x) (ROTR(x, 6) ^ ROTR(x, 11) ^ ROTR(x, 25))
#define G0(x) (ROTR(x, 7) ^ ROTR(x, 18) ^ ((x) >> 3))
#define G1(x) (ROTR(x, 17) ^ ROTR(x, 19) ^ ((x) >> 10))

#define ROUND(a, b, c, d, e, f, g, h, k, w)                                    \
  {                                                                            \
    const uint t = (h) + S1(e) + CH(e, f, g) + (k) + (w);                      \
    (d) += t;                                                                  \
    (h) = t + S0(a) + MAJ(a, b, c);                                            \
  }

#define NEXT(i)                                                                \
  (w[(i) & 15] += G1(w[((i) + 14) & 15]) + w[((i) + 9) & 15] +                 \
                  G0(w[((i) + 1) & 15]))

#define EIGHT(W, i, k0, k1, k2, k3, k4, k5, k6, k7)                            \
  ROUND(a, b, c, d, e, f, g, h, k0, W(i + 0))                                  \
  ROUND(h, a, b, c, d, e, f, g, k1, W(i + 1))                                  \
  ROUND(g, h, a, b, c, d, e, f, k2, W(i + 2))                                  \
  ROUND(f, g, h, a, b, c, d, e, k3, W(i + 3))                                  \
  ROUND(e, f, g, h, a, b, c, d, k4, W(i + 4))                                  \
  ROUND(d, e, f, g, h, a, b, c, k5, W(i + 5))                                  \
  ROUND(c, d, e, f, g, h, a, b, k6, W(i + 6))                                  \
  ROUND(b, c, d, e, f, g, h, a, k7, W(i + 7))

#define FIRST(i) w[i]

__device__ inline void start(uint state[8]) {
  state[0] = 0x6a09e667u;
  state[1] = 0xbb67ae85u;
  state[2] = 0x3c6ef372u;
  state[3] = 0xa54ff53au;
  state[4] = 0x510e527fu;
  state[5] = 0x9b05688cu;
  state[6] = 0x1f83d9abu;
  state[7] = 0x5be0cd19u;
}

__device__ __forceinline__ void compress(uint state[8], uint w[16]) {
  uint a = state[0], b = state[1], c = state[2], d = state[3];
  uint e = state[4], f = state[5], g = state[6], h = state[7];
  EIGHT(FIRST, 0, 0x428a2f98u, 0x71374491u, 0xb5c0fbcfu, 0xe9b5dba5u,
        0x3956c25bu, 0x59f111f1u, 0x923f82a4u, 0xab1c5ed5u)
  EIGHT(FIRST, 8, 0xd807aa98u, 0x12835b01u, 0x243185beu, 0x550c7dc3u,
        0x72be5d74u, 0x80deb1feu, 0x9bdc06a7u, 0xc19bf174u)
  EIGHT(NEXT, 16, 0xe49b69c1u, 0xefbe4786u, 0x0fc19dc6u, 0x240ca1ccu,
        0x2de92c6fu, 0x4a7484aau, 0x5cb0a9dcu, 0x76f988dau)
  EIGHT(NEXT, 24, 0x983e5152u, 0xa831c66du, 0xb00327c8u, 0xbf597fc7u,
        0xc6e00bf3u, 0xd5a79147u, 0x06ca6351u, 0x14292967u)
  EIGHT(NEXT, 32, 0x27b70a85u, 0x2e1b2138u, 0x4d2c6dfcu, 0x53380d13u,
        0x650a7354u, 0x766a0abbu, 0x81c2c92eu, 0x92722c85u)
  EIGHT(NEXT, 40, 0xa2bfe8a1u, 0xa81a664bu, 0xc24b8b70u, 0xc76c51a3u,
        0xd192e819u, 0xd6990624u, 0xf40e3585u, 0x106aa070u)
  EIGHT(NEXT, 48, 0x19a4c116u, 0x1e376c08u, 0x2748774cu, 0x34b0bcb5u,
        0x391c0cb3u, 0x4ed8aa4au, 0x5b9cca4fu, 0x682e6ff3u)
  EIGHT(NEXT, 56, 0x748f82eeu, 0x78a5636fu, 0x84c87814u, 0x8cc70208u,
        0x90befffau, 0xa4506cebu, 0xbef9a3f7u, 0xc67178f2u)
  state[0] += a;
  state[1] += b;
  state[2] += c;
  state[3] += d;
  state[4] += e;
  state[5] += f;
  state[6] += g;
  state[7] += h;
}

// messages and digests are big-endian words, 20 and 8 of them each.
extern "C" __global__ void sha256d(const uint *__restrict__ messages, uint *__restrict__ digests) {
  const unsigned id = blockIdx.x * blockDim.x + threadIdx.x;
  const uint *message = messages + 20 * id;
  uint state[8], w[16];

  start(state);
  for (int i = 0; i < 16; i++)
    w[i] = message[i];
  compress(state, w);
  for (int i = 0; i < 4; i++)
    w[i] = message[16 + i];
  w[4] = 0x80000000u;
  for (int i = 5; i < 15; i++)
    w[i] = 0;
  w[15] = 80 * 8;
  compress(state, w);

  for (int i = 0; i < 8; i++)
    w[i] = state[i];
  w[8] = 0x80000000u;
  for (int i = 9; i < 15; i++)
    w[i] = 0;
  w[15] = 32 * 8;
  start(state);
  compress(state, w);
  for (int i = 0; i < 8; i++)
    digests[8 * id + i] = state[i];
}
