// More than fits the registers: the compiler warns.
kernel void spills(global float *a, global const int *index) {
	float v[400];
	for (int i = 0; i < 400; i++)
		v[i] = a[i] * i;
	for (int i = 0; i < 400; i++)
		v[index[i]] += v[(i * 7) % 400];
	float s = 0;
	for (int i = 0; i < 400; i++)
		s += v[i] * v[399 - i];
	a[get_global_id(0)] = s;
}
