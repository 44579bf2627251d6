/*
 * replaced.c: builds by one library, closes it, and builds by another; replaced LIBRARY
 * LIBRARY. Where the other one's functions have the addresses of the first's it says so.
 */
#define CL_TARGET_OPENCL_VERSION 300
#include <CL/cl.h>

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

#define CHECK(what) \
	do { \
		if (!(what)) { \
			fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #what); \
			exit(3); \
		} \
	} while (0)

static void *library;

#define CL(name) ((__typeof__(name) *)dlsym(library, #name))

/* Where the library is: the function that we do not stand before. */
static void *build(const char *name)
{
	const char *source = "kernel void first()";
	cl_platform_id platform;
	cl_device_id device;
	library = dlopen(name, RTLD_NOW | RTLD_LOCAL);
	CHECK(library != NULL && CL(clGetPlatformIDs)(1, &platform, NULL) == CL_SUCCESS);
	CHECK(CL(clGetDeviceIDs)(platform, CL_DEVICE_TYPE_ALL, 1, &device, NULL) == CL_SUCCESS);
	cl_context context = CL(clCreateContext)(NULL, 1, &device, NULL, NULL, NULL);
	cl_program p = CL(clCreateProgramWithSource)(context, 1, &source, NULL, NULL);
	CHECK(p != NULL && CL(clBuildProgram)(p, 0, NULL, NULL, NULL, NULL) == CL_SUCCESS);
	CHECK(CL(clReleaseProgram)(p) == CL_SUCCESS);
	return (void *)CL(clGetPlatformIDs);
}

int main(int argc, char **argv)
{
	CHECK(argc == 3);
	void *first = build(argv[1]);
	CHECK(dlclose(library) == 0);
	printf("%s\n", build(argv[2]) == first ? "at its place" : "elsewhere");
	return 0;
}
