"""What pyopencl generates code for: arithmetic, elementwise, reduction, scan, random numbers."""
import warnings

import numpy as np
import pyopencl as cl
import pyopencl.array as ca
from pyopencl.elementwise import ElementwiseKernel
from pyopencl.reduction import ReductionKernel
from pyopencl.scan import InclusiveScanKernel

warnings.simplefilter("ignore")
context = cl.create_some_context(interactive=False)
queue = cl.CommandQueue(context)

a = ca.to_device(queue, np.arange(1000, dtype=np.float32))
b = 2 * a
print("product", float((a * b).get().sum()))

axpy = ElementwiseKernel(context, "float *x, float *y, float *z", "z[i] = 3 * x[i] + y[i]", "axpy")
z = ca.empty_like(a)
axpy(a, b, z)
print("axpy", float(z.get().sum()))

dot = ReductionKernel(context, np.float32, neutral="0", reduce_expr="a+b", map_expr="x[i] * y[i]",
                      arguments="__global float *x, __global float *y")
print("dot", float(dot(a, b).get()))

scan = InclusiveScanKernel(context, np.int32, "a+b", neutral="0")
n = ca.arange(queue, 0, 500, dtype=np.int32)
scan(n)
print("scan", int(n.get()[-1]))

program = cl.Program(context, """
#ifndef SCALE
#error SCALE
#endif
kernel void scale(global float *x) { x[get_global_id(0)] *= SCALE; }
kernel void shift(global float *x, const float by) { x[get_global_id(0)] += by; }
""")
try:
    program.build()
except cl.RuntimeError as e:
    print("without SCALE:", "fails")
for scale in (2, 3):
    p = cl.Program(context, program.source).build(options=["-DSCALE=%d" % scale])
    x = ca.to_device(queue, np.ones(64, dtype=np.float32))
    p.scale(queue, (64,), (16,), x.data)
    p.shift(queue, (64,), None, x.data, np.float32(1))
    print("scale", scale, x.get()[:3], [k.function_name for k in p.all_kernels()],
          p.get_build_info(context.devices[0], cl.program_build_info.OPTIONS))
