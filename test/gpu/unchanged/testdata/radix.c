/*
 * A program that knows nothing of kernstash: it compiles a radix sort of CUB's
 * with NVRTC for the device that is here, sorts with it, and checks the numbers.
 *
 *	radix [-I DIRECTORY]... [NVRTC]
 *
 * NVRTC is a soname or a path. Both libraries are opened at run time, since what
 * the program is built on has neither. The last line tells, in milliseconds, what
 * nvrtcCompileProgram took, what it took until the kernel was there, and what it
 * took from the start until the numbers were checked.
 */
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static const char source[] =
	"#include <cub/block/block_radix_sort.cuh>\n"
	"using Sort = cub::BlockRadixSort<unsigned, 256, 16>;\n"
	"extern \"C\" __global__ void __launch_bounds__(256) sort_blocks(unsigned *keys) {\n"
	"  __shared__ typename Sort::TempStorage temp;\n"
	"  unsigned mine[16];\n"
	"  unsigned *of = keys + blockIdx.x * 4096 + threadIdx.x * 16;\n"
	"  for (int i = 0; i < 16; i++) mine[i] = of[i];\n"
	"  Sort(temp).Sort(mine);\n"
	"  for (int i = 0; i < 16; i++) of[i] = mine[i];\n"
	"}\n";

enum { blocks = 64, per_block = 4096, keys = blocks * per_block };

static double now(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1e3 + t.tv_nsec / 1e6;
}

static void fail(const char *what, int code)
{
	fprintf(stderr, "radix: %s: %d\n", what, code);
	exit(1);
}

static void *library(const char *name)
{
	void *l = dlopen(name, RTLD_NOW);
	if (!l) {
		fprintf(stderr, "radix: %s\n", dlerror());
		exit(1);
	}
	return l;
}

static void *symbol(void *from, const char *name)
{
	void *s = dlsym(from, name);
	if (!s) {
		fprintf(stderr, "radix: no %s\n", name);
		exit(1);
	}
	return s;
}

#define CALL(from, name, types, ...)                                            \
	do {                                                                     \
		int (*f) types = (int(*) types)symbol(from, name);               \
		int code = f(__VA_ARGS__);                                       \
		if (code)                                                        \
			fail(name, code);                                        \
	} while (0)

int main(int argc, char **argv)
{
	double start = now();
	const char *options[32] = { NULL, "--std=c++17", "-default-device" };
	char arch[64], nvrtc_name[4096] = "libnvrtc.so";
	int n = 3;
	for (int i = 1; i < argc; i++) {
		if (!strcmp(argv[i], "-I") && i + 1 < argc && n < 30) {
			char *o = malloc(strlen(argv[i + 1]) + 3);
			if (!o)
				return 1;
			sprintf(o, "-I%s", argv[++i]);
			options[n++] = o;
		} else {
			snprintf(nvrtc_name, sizeof nvrtc_name, "%s", argv[i]);
		}
	}
	void *cuda = library("libcuda.so.1"), *nvrtc = library(nvrtc_name);

	int device, major, minor;
	void *context, *module, *function;
	CALL(cuda, "cuInit", (unsigned), 0);
	CALL(cuda, "cuDeviceGet", (int *, int), &device, 0);
	CALL(cuda, "cuDeviceGetAttribute", (int *, int, int), &major, 75, device);
	CALL(cuda, "cuDeviceGetAttribute", (int *, int, int), &minor, 76, device);
	CALL(cuda, "cuDevicePrimaryCtxRetain", (void **, int), &context, device);
	CALL(cuda, "cuCtxSetCurrent", (void *), context);
	snprintf(arch, sizeof arch, "--gpu-architecture=sm_%d%d", major, minor);
	options[0] = arch;

	double asked = now();
	void *program;
	CALL(nvrtc, "nvrtcCreateProgram", (void **, const char *, const char *, int, const char *const *, const char *const *),
		&program, source, "radix.cu", 0, NULL, NULL);
	int (*compile)(void *, int, const char *const *) =
		(int (*)(void *, int, const char *const *))symbol(nvrtc, "nvrtcCompileProgram");
	double before = now();
	int code = compile(program, n, options);
	double compiled = now() - before;
	if (code) {
		size_t size;
		CALL(nvrtc, "nvrtcGetProgramLogSize", (void *, size_t *), program, &size);
		char *log = malloc(size + 1);
		CALL(nvrtc, "nvrtcGetProgramLog", (void *, char *), program, log);
		fprintf(stderr, "%.4000s\n", log);
		fail("nvrtcCompileProgram", code);
	}
	size_t size;
	CALL(nvrtc, "nvrtcGetCUBINSize", (void *, size_t *), program, &size);
	char *cubin = malloc(size);
	CALL(nvrtc, "nvrtcGetCUBIN", (void *, char *), program, cubin);
	CALL(nvrtc, "nvrtcDestroyProgram", (void **), &program);
	CALL(cuda, "cuModuleLoadData", (void **, const void *), &module, cubin);
	CALL(cuda, "cuModuleGetFunction", (void **, void *, const char *), &function, module, "sort_blocks");
	double there = now() - asked;

	unsigned *host = malloc(keys * sizeof *host);
	uint64_t sum = 0, again = 0, x = 88172645463325252ull;
	for (int i = 0; i < keys; i++) {
		x ^= x << 13, x ^= x >> 7, x ^= x << 17;
		host[i] = (unsigned)x;
		sum += host[i];
	}
	uint64_t memory;
	CALL(cuda, "cuMemAlloc_v2", (uint64_t *, size_t), &memory, keys * sizeof *host);
	CALL(cuda, "cuMemcpyHtoD_v2", (uint64_t, const void *, size_t), memory, host, keys * sizeof *host);
	void *args[] = { &memory };
	CALL(cuda, "cuLaunchKernel",
		(void *, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, void *, void **, void **),
		function, blocks, 1, 1, 256, 1, 1, 0, NULL, args, NULL);
	CALL(cuda, "cuMemcpyDtoH_v2", (void *, uint64_t, size_t), host, memory, keys * sizeof *host);
	for (int i = 0; i < keys; i++) {
		again += host[i];
		if (i % per_block && host[i - 1] > host[i])
			fail("the keys are not sorted, at", i);
	}
	if (sum != again)
		fail("the keys are others than before, by", (int)(again - sum));
	printf("right; compile %.3f ms, kernel there after %.3f ms, all %.3f ms\n", compiled, there, now() - start);
	return 0;
}
