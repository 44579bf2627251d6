/* threads.c: three threads build the source in a file at once. */
#define CL_TARGET_OPENCL_VERSION 300
#include <CL/cl.h>
#include <pthread.h>
#include <stdio.h>

#define THREADS 3

static char text[1 << 16];
static cl_context context;
static pthread_barrier_t begin;

static void *build(void *failed)
{
	const char *strings = text;
	cl_int code;
	cl_program program = clCreateProgramWithSource(context, 1, &strings, NULL, &code);
	pthread_barrier_wait(&begin);
	if (clBuildProgram(program, 0, NULL, "", NULL, NULL) != CL_SUCCESS)
		*(int *)failed = 1;
	clReleaseProgram(program);
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t threads[THREADS];
	int failed[THREADS] = {0}, any = 0;
	cl_platform_id platform;
	cl_device_id device;
	cl_int code;
	FILE *f = argc > 1 ? fopen(argv[1], "r") : NULL;
	if (f == NULL || fread(text, 1, sizeof(text) - 1, f) == 0)
		return 2;
	fclose(f);
	if (clGetPlatformIDs(1, &platform, NULL) != CL_SUCCESS ||
		clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, NULL) != CL_SUCCESS)
		return 3;
	context = clCreateContext(NULL, 1, &device, NULL, NULL, &code);
	pthread_barrier_init(&begin, NULL, THREADS);
	for (int i = 0; i < THREADS; i++)
		pthread_create(&threads[i], NULL, build, &failed[i]);
	for (int i = 0; i < THREADS; i++) {
		pthread_join(threads[i], NULL);
		any |= failed[i];
	}
	clReleaseContext(context);
	return any;
}
