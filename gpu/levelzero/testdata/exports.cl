int helper(int x) { return x * 3; }
kernel void e(global int *a) { a[0] = helper(a[1]); }
