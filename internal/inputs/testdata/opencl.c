/* Builds and launches a kernel on the first device of the first platform. */
#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>
#include <stdio.h>

int main(void)
{
	static const char *source = "kernel void k(global uint *a) { a[get_global_id(0)] = popcount(a[get_global_id(0)]); }";
	cl_platform_id p;
	cl_device_id d;
	cl_int e, sum = clGetPlatformIDs(1, &p, NULL);
	sum |= clGetDeviceIDs(p, CL_DEVICE_TYPE_ALL, 1, &d, NULL);
	cl_context c = clCreateContext(NULL, 1, &d, NULL, NULL, &e);
	cl_command_queue q = clCreateCommandQueue(c, d, 0, &e);
	cl_program program = clCreateProgramWithSource(c, 1, &source, NULL, &e);
	sum |= clBuildProgram(program, 1, &d, "", NULL, NULL);
	cl_kernel k = clCreateKernel(program, "k", &e);
	cl_uint a[4] = {1, 3, 7, 15};
	cl_mem b = clCreateBuffer(c, CL_MEM_COPY_HOST_PTR, sizeof(a), a, &e);
	size_t global = 4, size = 0;
	sum |= clSetKernelArg(k, 0, sizeof(b), &b);
	sum |= clEnqueueNDRangeKernel(q, k, 1, NULL, &global, NULL, 0, NULL, NULL);
	sum |= clFinish(q);
	sum |= clGetProgramInfo(program, CL_PROGRAM_BINARY_SIZES, sizeof(size), &size, NULL);
	printf("%d, %zu bytes\n", sum, size);
	return sum != 0 || size == 0;
}
