/*
 * last.c: builds one program, and ends at once.
 *
 *	last NUMBER return|exit|_exit|handler|child [FILE]
 *
 * Programs of different numbers are different. It prints what the build call took, in
 * microseconds. With "handler" a handler of a signal calls exit, with "child" a child of fork ends first. FILE is the device image for Level Zero, a library for NVRTC.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static double now(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e6 + (double)t.tv_nsec / 1e3;
}

static void check(long code, const char *call)
{
	if (code != 0) {
		fprintf(stderr, "%s: %ld\n", call, code);
		_exit(1);
	}
}

#ifdef OPENCL
#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>

static double build(unsigned number, const char *file)
{
	char source[256];
	const char *text = source;
	cl_platform_id platform;
	cl_device_id device;
	cl_int code;
	(void)file;
	snprintf(source, sizeof source, "kernel void k(global int *p) { p[get_global_id(0)] += %u; }\n", number);
	check(clGetPlatformIDs(1, &platform, NULL), "clGetPlatformIDs");
	check(clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, NULL), "clGetDeviceIDs");
	cl_context context = clCreateContext(NULL, 1, &device, NULL, NULL, &code);
	check(code, "clCreateContext");
	cl_program program = clCreateProgramWithSource(context, 1, &text, NULL, &code);
	check(code, "clCreateProgramWithSource");
	double begun = now();
	check(clBuildProgram(program, 1, &device, NULL, NULL, NULL), "clBuildProgram");
	return now() - begun;
}
#endif

#ifdef NVRTC
#include <dlfcn.h>

static double build(unsigned number, const char *file)
{
	char source[256];
	int (*create)(void **, const char *, const char *, int, const char *const *, const char *const *);
	int (*compile)(void *, int, const char *const *);
	void *program, *library = dlopen(file, RTLD_NOW);
	check(library == NULL, "dlopen");
	*(void **)&create = dlsym(library, "nvrtcCreateProgram");
	*(void **)&compile = dlsym(library, "nvrtcCompileProgram");
	snprintf(source, sizeof source, "extern \"C\" __global__ void k(int *p) { p[threadIdx.x] += %u; }\n", number);
	check(create(&program, source, "last.cu", 0, NULL, NULL), "nvrtcCreateProgram");
	double begun = now();
	check(compile(program, 0, NULL), "nvrtcCompileProgram");
	return now() - begun;
}
#endif

#ifdef LEVELZERO
#include <level_zero/ze_api.h>

/* The image scale.spv has one specialization constant. */
static double build(unsigned number, const char *file)
{
	static unsigned char code[1 << 16];
	FILE *f = fopen(file, "r");
	check(f == NULL, file);
	size_t size = fread(code, 1, sizeof code, f);
	uint32_t one = 1, id = 7;
	const void *value = &number;
	ze_driver_handle_t driver;
	ze_device_handle_t device;
	ze_context_handle_t context;
	ze_module_handle_t module;
	ze_context_desc_t context_desc = {.stype = ZE_STRUCTURE_TYPE_CONTEXT_DESC};
	ze_module_constants_t constants = {1, &id, &value};
	ze_module_desc_t desc = {.stype = ZE_STRUCTURE_TYPE_MODULE_DESC, .format = ZE_MODULE_FORMAT_IL_SPIRV, .inputSize = size,
		.pInputModule = code, .pConstants = &constants};
	check(zeInit(0), "zeInit");
	check(zeDriverGet(&one, &driver), "zeDriverGet");
	check(zeDeviceGet(driver, &one, &device), "zeDeviceGet");
	check(zeContextCreate(driver, &context_desc, &context), "zeContextCreate");
	double begun = now();
	check(zeModuleCreate(context, device, &desc, &module, NULL), "zeModuleCreate");
	return now() - begun;
}
#endif

static void leave(int signal)
{
	(void)signal;
	exit(0);
}

int main(int argc, char **argv)
{
	if (argc < 3)
		return 2;
	double took = build((unsigned)atoi(argv[1]), argc > 3 ? argv[3] : NULL);
	char line[64];
	int n = snprintf(line, sizeof line, "took %.0f\n", took);
	check(write(1, line, (size_t)n) != n, "write");
	if (strcmp(argv[2], "exit") == 0)
		exit(0);
	if (strcmp(argv[2], "_exit") == 0)
		_exit(0);
	if (strcmp(argv[2], "handler") == 0) {
		signal(SIGUSR1, leave);
		raise(SIGUSR1);
	}
	if (strcmp(argv[2], "child") == 0) {
		pid_t child = fork();
		if (child == 0)
			exit(0);
		check(waitpid(child, NULL, 0) != child, "waitpid");
	}
	return 0;
}
