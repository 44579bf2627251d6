// Two kernels, a variable, an attribute, local memory and a required group size.
global int counter = 42;

__attribute__((noinline)) int times(int x) { return x * counter; }

__attribute__((reqd_work_group_size(16, 2, 1)))
kernel void required(global int *a, local int *l, int n) {
	l[get_local_id(0)] = n;
	a[get_global_id(0)] += times(n) + l[3];
}

kernel void add(global const float *a, global const float *b, global float *c, int n) {
	size_t i = get_global_id(0);
	if (i < n)
		c[i] = a[i] + b[i];
}
