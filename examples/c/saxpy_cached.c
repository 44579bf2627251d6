/*
 * saxpy_cached.c: y = a*x + y on the first OpenCL device. It compiles its kernel at
 * the first start, and restores it at all others.
 */
#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>
#include <kernstash.h>
#include <stdbool.h>
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

/* A lookup for the program; NULL where there is no cache. */
static kernstash_lookup *look_up(cl_platform_id platform, cl_device_id id, kernstash_cache **cache)
{
	kernstash_device *device = NULL;
	kernstash_lookup *lookup = NULL;

	if (kernstash_open(NULL, cache) != KERNSTASH_OK)
		return NULL;
	if (kernstash_device_opencl(*cache, platform, id, &device) == KERNSTASH_OK &&
	    kernstash_lookup_open(device, "saxpy", &lookup) == KERNSTASH_OK) {
		kernstash_lookup_source(lookup, source, sizeof source - 1);
		kernstash_lookup_options(lookup, options);
	}
	kernstash_device_close(device);
	return lookup;
}

/* The program from what the cache has; NULL: it has none, or the driver refuses it. */
static cl_program restore(cl_context context, cl_device_id device, kernstash_lookup *lookup)
{
	const void *data;
	size_t size;

	if (lookup == NULL || !kernstash_lookup_found(lookup) ||
	    kernstash_lookup_binary(lookup, &data, &size) != KERNSTASH_OK)
		return NULL;
	const unsigned char *binary = data;
	cl_program program = clCreateProgramWithBinary(context, 1, &device, &size, &binary, NULL, NULL);
	if (program == NULL || clBuildProgram(program, 1, &device, options, NULL, NULL) != CL_SUCCESS) {
		if (program != NULL)
			clReleaseProgram(program);
		kernstash_lookup_refused(lookup);
		return NULL;
	}
	puts("restored");
	return program;
}

/* Stores the program. After its first launch: some drivers make code only then. */
static void keep(cl_program program, kernstash_lookup *lookup)
{
	size_t size = 0;

	if (clGetProgramInfo(program, CL_PROGRAM_BINARY_SIZES, sizeof size, &size, NULL) != CL_SUCCESS || size == 0)
		return;
	unsigned char *binary = malloc(size);
	if (binary != NULL && clGetProgramInfo(program, CL_PROGRAM_BINARIES, sizeof binary, &binary, NULL) == CL_SUCCESS &&
	    kernstash_lookup_set(lookup, binary, size) == KERNSTASH_OK)
		kernstash_lookup_populate(lookup);
	free(binary);
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
	kernstash_cache *cache = NULL;
	kernstash_lookup *lookup = look_up(platform, device, &cache);
	cl_program program = restore(context, device, lookup);
	bool built = program == NULL;
	if (built)
		program = build(context, device);
	run(context, device, program);
	if (built && lookup != NULL)
		keep(program, lookup);
	kernstash_lookup_close(lookup);
	kernstash_close(cache);
	clReleaseProgram(program);
	clReleaseContext(context);
	return 0;
}
