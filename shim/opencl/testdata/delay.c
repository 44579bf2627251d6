/*
 * delay.c: builds programs that nobody has built before, launches a kernel of each,
 * and says how long that took, and how much of it the driver (see stopwatch.c).
 *
 *     delay SOURCE KERNEL STOPWATCH BUILDS FIRST
 *
 * A line for each build: microseconds, those of the driver. Each has other options, with a
 * number from FIRST on.
 *
 * A second thread is there throughout, as drivers of hardware have some: where there is none,
 * malloc and reference counts of the C and C++ libraries do without atomic instructions, and
 * compilers are 3 % faster.
 */
#define CL_TARGET_OPENCL_VERSION 300
#include <CL/cl.h>

#include <dlfcn.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#define CHECK(what) \
	do { \
		if (!(what)) { \
			fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #what); \
			exit(1); \
		} \
	} while (0)

static double now(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e6 + (double)t.tv_nsec / 1e3;
}

static const char *contents(const char *path)
{
	static char text[1 << 20];
	FILE *f = fopen(path, "r");
	CHECK(f != NULL);
	text[fread(text, 1, sizeof(text) - 1, f)] = 0;
	fclose(f);
	return text;
}

static void *idle(void *unused)
{
	pause();
	return unused;
}

int main(int argc, char **argv)
{
	cl_platform_id platform;
	cl_device_id device;
	cl_int code;
	int number = 7;
	const size_t global = 64, local = 8;
	pthread_t second;
	CHECK(argc == 6);
	CHECK(pthread_create(&second, NULL, idle, NULL) == 0);
	const char *source = contents(argv[1]);
	CHECK(clGetPlatformIDs(1, &platform, NULL) == CL_SUCCESS);
	CHECK(clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, NULL) == CL_SUCCESS);
	cl_context context = clCreateContext(NULL, 1, &device, NULL, NULL, &code);
	cl_command_queue queue = clCreateCommandQueueWithProperties(context, device, NULL, &code);
	cl_mem a = clCreateBuffer(context, CL_MEM_READ_WRITE, 4096, NULL, &code);
	cl_mem b = clCreateBuffer(context, CL_MEM_READ_WRITE, 4096, NULL, &code);
	void *layer = dlopen(argv[3], RTLD_NOW | RTLD_NOLOAD);
	uint64_t (*stopwatch)(void) = NULL;
	CHECK(layer != NULL);
	*(void **)&stopwatch = dlsym(layer, "stopwatch");
	CHECK(stopwatch != NULL);
	for (int i = 0; i < atoi(argv[4]); i++) {
		char options[64];
		snprintf(options, sizeof(options), "-D NUMBER=%d", atoi(argv[5]) + i);
		cl_program p = clCreateProgramWithSource(context, 1, &source, NULL, &code);
		CHECK(p != NULL);
		stopwatch();
		double start = now();
		CHECK(clBuildProgram(p, 1, &device, options, NULL, NULL) == CL_SUCCESS);
		double took = now() - start;
		cl_kernel k = clCreateKernel(p, argv[2], &code);
		CHECK(k != NULL);
		clSetKernelArg(k, 0, sizeof(a), &a);
		clSetKernelArg(k, 1, sizeof(b), &b);
		clSetKernelArg(k, 2, sizeof(number), &number);
		start = now();
		CHECK(clEnqueueNDRangeKernel(queue, k, 1, NULL, &global, &local, 0, NULL, NULL) == CL_SUCCESS);
		took += now() - start;
		clFinish(queue);
		printf("%.1f %.1f\n", took, (double)stopwatch() / 1e3);
		clReleaseKernel(k);
		clReleaseProgram(p);
	}
	fflush(stdout);
	_exit(0);
}
