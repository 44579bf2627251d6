// SHA-256 of 32 bytes, R times over: a kernel for each R is some seconds of work
// for the compiler, and what it computes is easily checked.
__device__ __constant__ unsigned k[64] = {
	0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5, 0xd807aa98, 0x12835b01, 0x243185be,
	0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174, 0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa,
	0x5cb0a9dc, 0x76f988da, 0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967, 0x27b70a85,
	0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85, 0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3,
	0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070, 0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f,
	0x682e6ff3, 0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2,
};

__device__ __forceinline__ unsigned rotate(unsigned x, int n) { return x >> n | x << (32 - n); }

__device__ __forceinline__ void digest(unsigned m[8])
{
	unsigned w[64], h[8] = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19}, v[8];
#pragma unroll
	for (int i = 0; i < 16; i++)
		w[i] = i < 8 ? m[i] : i == 8 ? 0x80000000u : i == 15 ? 256u : 0u;
#pragma unroll
	for (int i = 16; i < 64; i++) {
		unsigned a = w[i - 15], b = w[i - 2];
		w[i] = w[i - 16] + (rotate(a, 7) ^ rotate(a, 18) ^ a >> 3) + w[i - 7] + (rotate(b, 17) ^ rotate(b, 19) ^ b >> 10);
	}
#pragma unroll
	for (int i = 0; i < 8; i++)
		v[i] = h[i];
#pragma unroll
	for (int i = 0; i < 64; i++) {
		unsigned e = v[4], a = v[0];
		unsigned s = v[7] + (rotate(e, 6) ^ rotate(e, 11) ^ rotate(e, 25)) + ((e & v[5]) ^ (~e & v[6])) + k[i] + w[i];
		unsigned t = (rotate(a, 2) ^ rotate(a, 13) ^ rotate(a, 22)) + ((a & v[1]) ^ (a & v[2]) ^ (v[1] & v[2]));
		v[7] = v[6], v[6] = v[5], v[5] = e, v[4] = v[3] + s, v[3] = v[2], v[2] = v[1], v[1] = a, v[0] = s + t;
	}
#pragma unroll
	for (int i = 0; i < 8; i++)
		m[i] = h[i] + v[i];
}

template <int R> __global__ void digests(unsigned *p)
{
	unsigned m[8];
	int at = 8 * (blockIdx.x * blockDim.x + threadIdx.x);
	for (int i = 0; i < 8; i++)
		m[i] = p[at + i];
#pragma unroll
	for (int i = 0; i < R; i++)
		digest(m);
	for (int i = 0; i < 8; i++)
		p[at + i] = m[i];
}
