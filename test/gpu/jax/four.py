"""Computes four functions with JAX for the first time in this process, and prints how long that took and what came out.
The memory that JAX takes first, three quarters of the card's (1.5 to 2 s on an H200), is taken before."""

import json
import sys
import time
import warnings

import numpy as np

import jax
import jax.numpy as jnp

heard = []
warnings.showwarning = lambda message, *rest, **more: heard.append(str(message))
rng = np.random.default_rng(0)
x = rng.standard_normal((256, 256), dtype=np.float32)
w = rng.standard_normal((256, 256), dtype=np.float32) / 16
layers = [(rng.standard_normal((256, 256), dtype=np.float32) / 16, rng.standard_normal(256, dtype=np.float32)) for _ in range(6)]


def mlp(layers, x):
    for w, b in layers:
        x = jax.nn.relu(x @ w + b)
    return x


jax.device_put(x).block_until_ready()
begun = time.perf_counter()
results = [
    jax.jit(jax.grad(lambda w, x: jnp.sum(jnp.tanh(x @ w) ** 2)))(w, x),
    jax.jit(jnp.sort)(x),
    jax.jit(jax.nn.softmax)(x),
    jax.jit(mlp)(layers, x),
]
jax.block_until_ready(results)
took = time.perf_counter() - begun
json.dump({
    "seconds": round(took, 3),
    "platform": jax.devices()[0].platform,
    "jax": jax.__version__,
    "values": [f"{float(np.abs(np.asarray(r)).mean()):.2e}" for r in results],
    "warnings": heard,
}, sys.stdout)
print()
