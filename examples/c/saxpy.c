/*
 * saxpy.c: y = a*x + y on the first OpenCL device. It compiles its kernel at each
 * start. saxpy_cached.c is the same program with kernstash: docs/C.md shows what
 * differs.
 */
#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>
#include <stdio.h>
#include <stdlib.h>

enum { count = 1024, group = 64 };

static const char source[] =
	"kernel void saxpy(float a, global const float *x, global float *y)\n"
	"{\n"
	"	size_t i = get_global_id(0);\n"
	"	y[i] = a * x[i] + y[i];\n"
	"}\n";

static const char options[] = "-cl-mad-enable";

static void check(cl_int code, const char *what)
{
	if (code != CL_SUCCESS) {
		fprintf(stderr, "%s: error %d\n", what, code);
		exit(1);
	}
}

static cl_program build(cl_context context, cl_device_id device)
{
	const char *text = source;
	cl_int code;
	cl_program program = clCreateProgramWithSource(context, 1, &text, NULL, &code);

	check(code, "clCreateProgramWithSource");
	check(clBuildProgram(program, 1, &device, options, NULL, NULL), "clBuildProgram");
	puts("built");
	return program;
}

static void run(cl_context context, cl_device_id device, cl_program program)
{
	static float x[count], y[count];
	size_t global = count, local = group;
	const float a = 2;
	cl_int code;
	cl_command_queue queue = clCreateCommandQueue(context, device, 0, &code);
	check(code, "clCreateCommandQueue");
	cl_kernel kernel = clCreateKernel(program, "saxpy", &code);
	check(code, "clCreateKernel");
	for (int i = 0; i < count; i++) {
		x[i] = (float)i;
		y[i] = 1;
	}
	cl_mem bx = clCreateBuffer(context, CL_MEM_COPY_HOST_PTR, sizeof x, x, &code);
	check(code, "clCreateBuffer");
	cl_mem by = clCreateBuffer(context, CL_MEM_COPY_HOST_PTR, sizeof y, y, &code);
	check(code, "clCreateBuffer");
	check(clSetKernelArg(kernel, 0, sizeof a, &a), "clSetKernelArg");
	check(clSetKernelArg(kernel, 1, sizeof bx, &bx), "clSetKernelArg");
	check(clSetKernelArg(kernel, 2, sizeof by, &by), "clSetKernelArg");
	check(clEnqueueNDRangeKernel(queue, kernel, 1, NULL, &global, &local, 0, NULL, NULL), "clEnqueueNDRangeKernel");
	check(clEnqueueReadBuffer(queue, by, CL_TRUE, 0, sizeof y, y, 0, NULL, NULL), "clEnqueueReadBuffer");
	printf("y[10] = %g\n", (double)y[10]);
	clReleaseMemObject(by);
	clReleaseMemObject(bx);
	clReleaseKernel(kernel);
	clReleaseCommandQueue(queue);
}

int main(void)
{
	cl_platform_id platform;
	cl_device_id device;
	cl_int code;

	check(clGetPlatformIDs(1, &platform, NULL), "clGetPlatformIDs");
	check(clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, NULL), "clGetDeviceIDs");
	cl_context context = clCreateContext(NULL, 1, &device, NULL, NULL, &code);
	check(code, "clCreateContext");
	cl_program program = build(context, device);
	run(context, device, program);
	clReleaseProgram(program);
	clReleaseContext(context);
	return 0;
}
