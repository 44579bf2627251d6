"""torch.compile of two transformer layers. Prints the seconds of the first call, and a digest of its result."""

import hashlib
import time

import torch

torch.manual_seed(1)
layer = torch.nn.TransformerEncoderLayer(256, 4, 1024, dropout=0.0, batch_first=True)
model = torch.nn.TransformerEncoder(layer, 2, enable_nested_tensor=False).cuda().half().train()
x = torch.randn(4, 128, 256, device="cuda", dtype=torch.float16)
want = model(x)
torch.cuda.synchronize()

begun = time.perf_counter()
got = torch.compile(model)(x)
torch.cuda.synchronize()
took = time.perf_counter() - begun
torch.testing.assert_close(got, want, atol=0.05, rtol=0.05)
print("%.3f %s" % (took, hashlib.sha256(got.detach().cpu().numpy().tobytes()).hexdigest()))
