/* plugin.c: a library that builds while it is being loaded, when the dynamic linker's
 * lock is held: no thread of ours may need that. */
#define CL_TARGET_OPENCL_VERSION 300
#include <CL/cl.h>

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static void build(const char *source)
{
	cl_platform_id platform;
	cl_device_id device;
	cl_int code = -1;
	if (clGetPlatformIDs(1, &platform, NULL) != CL_SUCCESS ||
		clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, NULL) != CL_SUCCESS)
		return;
	cl_context context = clCreateContext(NULL, 1, &device, NULL, NULL, &code);
	cl_program p = clCreateProgramWithSource(context, 1, &source, NULL, &code);
	code = clBuildProgram(p, 1, &device, NULL, NULL, NULL);
	printf("built while loading: %d\n", code);
	clReleaseProgram(p);
	clReleaseContext(context);
}

__attribute__((constructor)) static void load(void)
{
	if (getenv("PLUGIN_PAUSE") != NULL)
		usleep((useconds_t)atoi(getenv("PLUGIN_PAUSE")));
	build("kernel void k(global int *a) { a[0] = 1; }");
	build("kernel void k(global int *a) { a[0] = 2; }");
	build("kernel void k(global int *a) { a[0] = 1; }");
}
