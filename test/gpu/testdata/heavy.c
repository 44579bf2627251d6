/*
 * heavy.c: an OpenCL program that knows nothing of kernstash. It builds a
 * program of KERNELS kernels, each of STEPS steps that no compiler can shorten,
 * runs the last one, and checks what it computed.
 *
 *     heavy [kernels [steps [small]]]
 *
 * SMALL programs of one kernel are built before it, one after the other.
 * It prints, in milliseconds: the build call, and from there to the first result;
 * with HEAVY_BINARY set, also the size of the program's binary, and a sum of it.
 */
#ifndef CL_TARGET_OPENCL_VERSION /* opened.h of shim/opencl has one */
#define CL_TARGET_OPENCL_VERSION 120
#endif
#include <CL/cl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { N = 1024 };

static double now(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

static void check(cl_int code, const char *call)
{
	if (code != CL_SUCCESS) {
		fprintf(stderr, "%s: %d\n", call, code);
		exit(1);
	}
}

static cl_uint constant(int kernel, int step) { return (cl_uint)(kernel * 2654435761u + step * 40503u) | 1; }

/* One step in C, and the same in the kernels' source below. */
static cl_uint step(cl_uint x, cl_uint c)
{
	x ^= x << 13;
	x ^= x >> 17;
	x ^= x << 5;
	return x * c + (x >> 7);
}

static char *source(int kernels, int steps)
{
	size_t size = (size_t)kernels * ((size_t)steps * 80 + 200) + 1, at = 0;
	char *text = malloc(size);
	if (text == NULL)
		exit(1);
	for (int k = 0; k < kernels; k++) {
		at += (size_t)snprintf(text + at, size - at, "kernel void heavy%d(global uint *a) {\n uint x = a[get_global_id(0)];\n", k);
		for (int s = 0; s < steps; s++)
			at += (size_t)snprintf(text + at, size - at,
				" x ^= x << 13; x ^= x >> 17; x ^= x << 5; x = x * %uu + (x >> 7);\n", constant(k, s));
		at += (size_t)snprintf(text + at, size - at, " a[get_global_id(0)] = x;\n}\n");
	}
	return text;
}

int main(int argc, char **argv)
{
	int kernels = argc > 1 ? atoi(argv[1]) : 60, steps = argc > 2 ? atoi(argv[2]) : 120;
	cl_platform_id platform;
	cl_device_id device;
	cl_int code;
	check(clGetPlatformIDs(1, &platform, NULL), "clGetPlatformIDs");
	check(clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, NULL), "clGetDeviceIDs");
	cl_context context = clCreateContext(NULL, 1, &device, NULL, NULL, &code);
	check(code, "clCreateContext");
	cl_command_queue queue = clCreateCommandQueue(context, device, 0, &code);
	check(code, "clCreateCommandQueue");
	int small = argc > 3 ? atoi(argv[3]) : 0;
	for (int i = 0; i < small; i++) {
		char *text = source(1, i + 1);
		const char *strings = text;
		cl_program program = clCreateProgramWithSource(context, 1, &strings, NULL, &code);
		check(code, "clCreateProgramWithSource");
		check(clBuildProgram(program, 1, &device, "", NULL, NULL), "clBuildProgram");
		check(clReleaseProgram(program), "clReleaseProgram");
		free(text);
	}
	char *text = source(kernels, steps);
	const char *strings = text;

	double begin = now();
	cl_program program = clCreateProgramWithSource(context, 1, &strings, NULL, &code);
	check(code, "clCreateProgramWithSource");
	check(clBuildProgram(program, 1, &device, "", NULL, NULL), "clBuildProgram");
	double built = now();
	char name[32];
	snprintf(name, sizeof(name), "heavy%d", kernels - 1);
	cl_kernel kernel = clCreateKernel(program, name, &code);
	check(code, "clCreateKernel");
	cl_uint a[N];
	for (cl_uint i = 0; i < N; i++)
		a[i] = i + 1;
	cl_mem buffer = clCreateBuffer(context, CL_MEM_READ_WRITE | CL_MEM_COPY_HOST_PTR, sizeof(a), a, &code);
	check(code, "clCreateBuffer");
	check(clSetKernelArg(kernel, 0, sizeof(buffer), &buffer), "clSetKernelArg");
	size_t global = N, local = 64, size = 0;
	check(clEnqueueNDRangeKernel(queue, kernel, 1, NULL, &global, &local, 0, NULL, NULL), "clEnqueueNDRangeKernel");
	check(clEnqueueReadBuffer(queue, buffer, CL_TRUE, 0, sizeof(a), a, 0, NULL, NULL), "clEnqueueReadBuffer");
	double end = now();

	for (cl_uint i = 0; i < N; i++) {
		cl_uint x = i + 1;
		for (int s = 0; s < steps; s++)
			x = step(x, constant(kernels - 1, s));
		if (x != a[i]) {
			fprintf(stderr, "element %u is %u, not %u\n", i, a[i], x);
			return 1;
		}
	}
	uint64_t sum = 0;
	if (getenv("HEAVY_BINARY") != NULL) {
		check(clGetProgramInfo(program, CL_PROGRAM_BINARY_SIZES, sizeof(size), &size, NULL), "CL_PROGRAM_BINARY_SIZES");
		unsigned char *binary = malloc(size);
		check(clGetProgramInfo(program, CL_PROGRAM_BINARIES, sizeof(binary), &binary, NULL), "CL_PROGRAM_BINARIES");
		sum = 14695981039346656037u; /* FNV-1a */
		for (size_t i = 0; i < size; i++)
			sum = (sum ^ binary[i]) * 1099511628211u;
		free(binary);
	}
	printf("build %.3f first %.3f bytes %zu sum %016llx right\n", built - begin, end - begin, size, (unsigned long long)sum);
	clReleaseMemObject(buffer);
	clReleaseKernel(kernel);
	clReleaseProgram(program);
	clReleaseCommandQueue(queue);
	clReleaseContext(context);
	free(text);
	return 0;
}
