"""32 variants of a matmul in Triton. Prints the seconds from the first to the last result, and a digest of all."""

import hashlib
import time

import torch
import triton
import triton.language as tl


@triton.jit
def matmul(a, b, c, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    rows = tl.program_id(0) * BM + tl.arange(0, BM)
    columns = tl.program_id(1) * BN + tl.arange(0, BN)
    inner = tl.arange(0, BK)
    total = tl.zeros((BM, BN), dtype=tl.float32)
    for k in range(0, K, BK):
        x = tl.load(a + rows[:, None] * K + (k + inner)[None, :])
        y = tl.load(b + (k + inner)[:, None] * N + columns[None, :])
        total += tl.dot(x, y)
    tl.store(c + rows[:, None] * N + columns[None, :], total.to(tl.float16))


size = 512
torch.manual_seed(1)
a = torch.randn(size, size, device="cuda", dtype=torch.float16)
b = torch.randn(size, size, device="cuda", dtype=torch.float16)
want = a.float() @ b.float()
torch.cuda.synchronize()

begun = time.perf_counter()
digest = hashlib.sha256()
for bm, bn in ((32, 32), (32, 64), (64, 32), (64, 64)):
    for bk in (32, 64):
        for warps in (2, 4):
            for stages in (2, 3):
                c = torch.empty(size, size, device="cuda", dtype=torch.float16)
                matmul[(size // bm, size // bn)](a, b, c, size, size, size, bm, bn, bk, num_warps=warps, num_stages=stages)
                torch.testing.assert_close(c.float(), want, atol=0.5, rtol=0.02)
                digest.update(c.cpu().numpy().tobytes())
print("%.3f %s" % (time.perf_counter() - begun, digest.hexdigest()))
