kernel void g(read_only image2d_t i, sampler_t s, global float4 *a) { a[get_global_id(0)] = read_imagef(i, s, (float2)(0, 0)); }
