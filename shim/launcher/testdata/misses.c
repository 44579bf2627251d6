/*
 * misses.c: asks the cache for one program, with NVRTC, with an OpenCL driver, or by a lookup, and waits until it is stored.
 *
 *	misses nvrtc FILE OPTION...
 *	misses il FILE ID VALUE      specialization constant ID is VALUE
 *	misses lookup DRIVER
 */
#define CL_TARGET_OPENCL_VERSION 220
#include <CL/cl.h>
#include <dlfcn.h>
#include <kernstash.h>
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

static char image[1 << 20];

static size_t read_image(const char *path)
{
	FILE *f = fopen(path, "rb");
	check(f == NULL, path);
	size_t n = fread(image, 1, sizeof image - 1, f);
	fclose(f);
	return n;
}

static void with_nvrtc(const char *path, int n, const char **options)
{
	void *l = dlopen("libnvrtc.so.11.2", RTLD_NOW), *program;
	int (*create)(void **, const char *, const char *, int, const char **, const char **), (*compile)(void *, int, const char **);
	if (l == NULL)
		check(1, dlerror());
	*(void **)&create = dlsym(l, "nvrtcCreateProgram");
	*(void **)&compile = dlsym(l, "nvrtcCompileProgram");
	read_image(path);
	check(create(&program, image, "k.cu", 0, NULL, NULL), "nvrtcCreateProgram");
	check(compile(program, n, options), "nvrtcCompileProgram");
}

static void with_il(const char *path, cl_uint id, cl_uint value)
{
	cl_platform_id platform;
	cl_device_id device;
	cl_int code;
	size_t n = read_image(path);
	check(clGetPlatformIDs(1, &platform, NULL), "clGetPlatformIDs");
	check(clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, NULL), "clGetDeviceIDs");
	cl_context context = clCreateContext(NULL, 1, &device, NULL, NULL, &code);
	check(code, "clCreateContext");
	cl_program program = clCreateProgramWithIL(context, image, n, &code);
	check(code, "clCreateProgramWithIL");
	check(clSetProgramSpecializationConstant(program, id, sizeof value, &value), "clSetProgramSpecializationConstant");
	check(clBuildProgram(program, 1, &device, "", NULL, NULL), "clBuildProgram");
	clReleaseProgram(program);
	clReleaseContext(context);
}

static int build(void *user, kernstash_lookup *lookup)
{
	return kernstash_lookup_set(lookup, user, 1);
}

static void with_lookup(const char *driver)
{
	const kernstash_identity identity = {.size = sizeof identity, .api = "test", .name = "device", .driver = driver};
	kernstash_cache *cache;
	kernstash_device *device;
	kernstash_lookup *lookup;
	check(kernstash_open(NULL, &cache), "kernstash_open");
	check(kernstash_device_open(cache, &identity, &device), "kernstash_device_open");
	check(kernstash_lookup_open(device, "reduce", &lookup), "kernstash_lookup_open");
	check(kernstash_lookup_library(lookup, "misses", "1"), "kernstash_lookup_library");
	check(kernstash_lookup_get_or_build(lookup, build, "x"), "kernstash_lookup_get_or_build");
	kernstash_lookup_close(lookup);
	kernstash_device_close(device);
	kernstash_close(cache);
}

int main(int argc, char **argv)
{
	if (argc < 3)
		return 2;
	if (strcmp(argv[1], "nvrtc") == 0)
		with_nvrtc(argv[2], argc - 3, (const char **)argv + 3);
	else if (strcmp(argv[1], "il") == 0 && argc == 5)
		with_il(argv[2], atoi(argv[3]), atoi(argv[4]));
	else
		with_lookup(argv[2]);
	settle(0, 200);
	return 0;
}
