int helper(int x);
kernel void f(global int *a) { a[get_global_id(0)] = helper(a[0]); }
