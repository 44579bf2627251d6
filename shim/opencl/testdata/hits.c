/*
 * hits.c: builds one program again and again, or, with HITS_DISTINCT=1, another one each time.
 *
 *     hits SOURCE OPTIONS ROUNDS [restore]
 *
 * OPTIONS "NULL" are none at all. It prints the time of the first build call, and the
 * median and least of the others', in microseconds; where there are no others, a sum of
 * the binary (asking for it changes how the heap lies, and with that the times); and what
 * memory the builds took, in KiB. With "restore" the others are made of the
 * first one's binary, by hand. With HITS_GUARDED=1 the memory that the binary is written to
 * is guarded, as a garbage collector guards what it wants to know of writes to. With
 * HITS_LOADS_IN=DIR the driver is loaded while the process works in DIR, and HITS_BUILDS_IN is
 * where it works afterwards.
 */
#define CL_TARGET_OPENCL_VERSION 300
#include <CL/cl.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "../../testdata/settle.h"

static double now(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e6 + (double)t.tv_nsec / 1e3;
}

static void check(cl_int code, const char *call)
{
	if (code != CL_SUCCESS) {
		fprintf(stderr, "%s: %d\n", call, code);
		exit(1);
	}
}

static char *contents(const char *path, size_t *size)
{
	FILE *f = fopen(path, "r");
	if (f == NULL || fseek(f, 0, SEEK_END) != 0)
		return NULL;
	*size = (size_t)ftell(f);
	rewind(f);
	char *text = malloc(*size + 1);
	if (text == NULL || fread(text, 1, *size, f) != *size)
		return NULL;
	text[*size] = 0;
	fclose(f);
	return text;
}

static void work_in(const char *variable)
{
	const char *dir = getenv(variable);
	if (dir != NULL && chdir(dir) != 0)
		exit(3);
}

static long resident(void)
{
	char line[256];
	long kib = 0;
	FILE *f = fopen("/proc/self/status", "r");
	while (f != NULL && fgets(line, sizeof(line), f) != NULL)
		sscanf(line, "VmRSS: %ld", &kib);
	if (f != NULL)
		fclose(f);
	return kib;
}

/* Pages that the process touched for the first time, or again after they were given back. */
static long faults(void)
{
	struct rusage used;
	getrusage(RUSAGE_SELF, &used);
	return used.ru_minflt;
}

static int compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;
	return (x > y) - (x < y);
}

static unsigned char *guarded;
static size_t guarded_size;

static void opened(int number, siginfo_t *info, void *context)
{
	unsigned char *at = info->si_addr;
	(void)context;
	if (guarded == NULL || at < guarded || at >= guarded + guarded_size)
		signal(number, SIG_DFL);
	else
		mprotect(guarded, guarded_size, PROT_READ | PROT_WRITE);
}

static unsigned char *guard(size_t size)
{
	unsigned char *b = mmap(NULL, size, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	guarded_size = size;
	guarded = b;
	return b;
}

static unsigned char *binary(cl_program program, size_t *size)
{
	check(clGetProgramInfo(program, CL_PROGRAM_BINARY_SIZES, sizeof(*size), size, NULL), "CL_PROGRAM_BINARY_SIZES");
	unsigned char *b = getenv("HITS_GUARDED") == NULL ? malloc(*size) : guard(*size);
	check(clGetProgramInfo(program, CL_PROGRAM_BINARIES, sizeof(b), &b, NULL), "CL_PROGRAM_BINARIES");
	return b;
}

int main(int argc, char **argv)
{
	size_t length, size = 0;
	char *text = argc < 4 ? NULL : contents(argv[1], &length);
	if (text == NULL)
		return 2;
	const char *options = strcmp(argv[2], "NULL") == 0 ? NULL : argv[2];
	int rounds = atoi(argv[3]), restore = argc > 4, distinct = getenv("HITS_DISTINCT") != NULL && atoi(getenv("HITS_DISTINCT")) != 0;
	cl_platform_id platform;
	cl_device_id device;
	cl_int code;
	const struct sigaction open = {.sa_sigaction = opened, .sa_flags = SA_SIGINFO | SA_ONSTACK};
	if (getenv("HITS_GUARDED") != NULL)
		sigaction(SIGSEGV, &open, NULL);
	work_in("HITS_LOADS_IN");
	check(clGetPlatformIDs(1, &platform, NULL), "clGetPlatformIDs");
	work_in("HITS_BUILDS_IN");
	check(clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, NULL), "clGetDeviceIDs");
	cl_context context = clCreateContext(NULL, 1, &device, NULL, NULL, &code);
	check(code, "clCreateContext");
	double *took = calloc((size_t)rounds, sizeof(*took));
	unsigned char *made = NULL;
	uint64_t sum = 14695981039346656037u; /* FNV-1a */
	long before = resident(), touched = 0;
	for (int i = 0; i < rounds; i++) {
		cl_program program = NULL;
		double start = now();
		if (restore && i > 0) {
			const unsigned char *b = made;
			program = clCreateProgramWithBinary(context, 1, &device, &size, &b, NULL, &code);
		} else {
			char number[32];
			const char *strings[] = {text, number};
			size_t lengths[] = {length, (size_t)snprintf(number, sizeof(number), "\n// %d\n", i)};
			program = clCreateProgramWithSource(context, distinct ? 2 : 1, strings, lengths, &code);
			start = now();
		}
		check(code, "clCreateProgram");
		check(clBuildProgram(program, 1, &device, options, NULL, NULL), "clBuildProgram");
		took[i] = now() - start;
		if (i == 0 && (rounds == 1 || restore)) {
			made = binary(program, &size);
			for (size_t j = 0; j < size; j++)
				sum = (sum ^ made[j]) * 1099511628211u;
		}
		check(clReleaseProgram(program), "clReleaseProgram");
		if (i == 0)
			touched = faults();
	}
	touched = faults() - touched;
	double first = took[0];
	qsort(took + 1, (size_t)rounds - 1, sizeof(*took), compare);
	printf("first %.1f median %.1f least %.1f sum %016llx size %zu faults %ld resident %ld\n", first, rounds > 1 ? took[rounds / 2] : 0,
		rounds > 1 ? took[1] : 0, (unsigned long long)sum, size,
		rounds > 1 ? touched / (rounds - 1) : 0, resident() - before);
	fflush(stdout);
	const char *trace = getenv("KERNSTASH_TRACE_FILE");
	if ((rounds == 1 || distinct) && trace != NULL && *trace != 0) /* under the layer */
		settle(1, distinct ? 500 : 0); /* what was built is stored a moment later */
	_exit(0);
}
