/*
 * compiles.c: compiles one program for each number that it is given, with NVRTC, or with
 * OpenCL and launches it, and waits a little until they are stored.
 */
#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../../shim/testdata/settle.h"

static void check(int code, const char *what)
{
	if (code != 0) {
		fprintf(stderr, "%s: error %d\n", what, code);
		exit(1);
	}
}

static void with_nvrtc(const char *number)
{
	char source[128];
	void *l = dlopen("libnvrtc.so.11.2", RTLD_NOW), *program;
	int (*create)(void **, const char *, const char *, int, const char **, const char **), (*compile)(void *, int, const char **);
	if (l == NULL)
		check(1, dlerror());
	*(void **)&create = dlsym(l, "nvrtcCreateProgram");
	*(void **)&compile = dlsym(l, "nvrtcCompileProgram");
	snprintf(source, sizeof source, "__global__ void k(int *x) { *x = %s; }\n", number);
	check(create(&program, source, "k.cu", 0, NULL, NULL), "nvrtcCreateProgram");
	check(compile(program, 0, NULL), "nvrtcCompileProgram");
}

static void with_opencl(const char *number)
{
	static cl_platform_id platforms[16];
	cl_uint n = 0;
	cl_int code;
	cl_device_id device = NULL;
	char source[128], name[128];
	const char *text = source;
	size_t one = 1;
	snprintf(source, sizeof source, "kernel void k(global int *x) { *x = %s; }\n", number);
	check(clGetPlatformIDs(16, platforms, &n), "clGetPlatformIDs");
	for (cl_uint i = 0; i < n && device == NULL; i++)
		if (clGetPlatformInfo(platforms[i], CL_PLATFORM_NAME, sizeof name, name, NULL) == 0 && strstr(name, "Portable") != NULL)
			check(clGetDeviceIDs(platforms[i], CL_DEVICE_TYPE_ALL, 1, &device, NULL), "clGetDeviceIDs");
	cl_context context = clCreateContext(NULL, 1, &device, NULL, NULL, &code);
	check(code, "clCreateContext");
	cl_program program = clCreateProgramWithSource(context, 1, &text, NULL, &code);
	check(code, "clCreateProgramWithSource");
	check(clBuildProgram(program, 1, &device, "", NULL, NULL), "clBuildProgram");
	cl_kernel kernel = clCreateKernel(program, "k", &code);
	check(code, "clCreateKernel");
	cl_mem x = clCreateBuffer(context, CL_MEM_READ_WRITE, sizeof(int), NULL, &code);
	check(code, "clCreateBuffer");
	check(clSetKernelArg(kernel, 0, sizeof x, &x), "clSetKernelArg");
	cl_command_queue queue = clCreateCommandQueue(context, device, 0, &code);
	check(code, "clCreateCommandQueue");
	check(clEnqueueNDRangeKernel(queue, kernel, 1, NULL, &one, &one, 0, NULL, NULL), "clEnqueueNDRangeKernel");
	check(clFinish(queue), "clFinish");
	clReleaseMemObject(x);
	clReleaseKernel(kernel);
	clReleaseProgram(program);
	clReleaseCommandQueue(queue);
	clReleaseContext(context);
}

int main(int argc, char **argv)
{
	for (int i = 2; i < argc; i++)
		(strcmp(argv[1], "opencl") == 0 ? with_opencl : with_nvrtc)(argv[i]);
	settle(0, 200);
	return 0;
}
