/*
 * units.c: an application that compiles and links by steps, each an argument:
 *
 *     h NAME TEXT     a header in memory, for what is compiled from then on
 *     c UNIT          compiles UNIT.cl with UNITS_OPTIONS; says how that ended
 *     w FILE TEXT     writes a file, by way of another name, 20 ms later
 *     l UNIT,UNIT     links, runs the kernel k, and says what it makes of 0
 *     b UNIT,UNIT     as l, and runs it by a command buffer
 *     o OPTIONS       what is compiled from then on is compiled with these
 *     y UNIT,UNIT     links to a library, which is unit y then
 *     i UNIT,UNIT     links, and says what it makes in a program that is made
 *                     anew of the linked one's binary
 *     q UNIT          asks for the compiled unit's binary, and says how that ended
 *     k UNIT          asks the compiled unit everything else
 *     f UNIT,UNIT     as i, but it is a child that links, forked for that
 *     r UNIT          releases it
 *     n UNIT,UNIT     links, and says which kernels there are, in their order
 *     d UNIT,UNIT     links, and says a digest of the binary
 *     v NAME VALUE    sets a variable of the environment
 *     x NAME          unsets it
 *     p UNIT          builds it in one step of a source that ends in a NUL byte
 *     O OPTIONS       what is linked from then on is linked with these
 *     a UNIT,UNIT     links, and says the name of the first argument of the kernel k
 *     g UNIT          builds it in one step, and runs the kernel k
 *     e UNIT          builds it in one step, and says a digest of the binary
 */
#define CL_TARGET_OPENCL_VERSION 300
#include <CL/cl.h>

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../../testdata/settle.h"

#define CHECK(what) \
	do { \
		if (!(what)) { \
			fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #what); \
			exit(3); \
		} \
	} while (0)

enum { MOST = 16 };

static cl_device_id device;
static cl_context context;
static cl_command_queue queue;

static cl_program units[128]; /* by the first letter of the name */

static cl_program headers[MOST];
static const char *names[MOST];
static cl_uint nheaders;

static const char *link_options, *compile_options;

static cl_program create(const char *text)
{
	cl_int code;
	cl_program p = clCreateProgramWithSource(context, 1, &text, NULL, &code);
	CHECK(code == CL_SUCCESS);
	return p;
}

/* The program of a unit's source, unbuilt. */
static cl_program source(const char *name)
{
	char path[64], text[4096] = "";
	snprintf(path, sizeof(path), "%s.cl", name);
	FILE *f = fopen(path, "r");
	CHECK(f != NULL && fread(text, 1, sizeof(text) - 1, f) > 0);
	fclose(f);
	return create(text);
}

static void compile(const char *name)
{
	cl_program p = units[(unsigned)*name & 127] = source(name);
	printf("%s %d\n", name, clCompileProgram(p, 1, &device, compile_options, nheaders, nheaders == 0 ? NULL : headers,
		nheaders == 0 ? NULL : names, NULL, NULL));
}

static void write_file(const char *path, const char *text)
{
	FILE *f = fopen("new", "w");
	CHECK(f != NULL && fputs(text, f) >= 0 && fclose(f) == 0);
	usleep(20000); /* longer than the clock's grain */
	CHECK(rename("new", path) == 0);
}

static cl_program link_units(char *list)
{
	cl_program inputs[MOST];
	cl_uint n = 0;
	cl_int code;
	for (char *rest = NULL, *name = strtok_r(list, ",", &rest); name != NULL; name = strtok_r(NULL, ",", &rest))
		inputs[n++] = units[(unsigned)*name & 127];
	cl_program p = clLinkProgram(context, 1, &device, link_options, n, inputs, NULL, NULL, &code);
	if (p == NULL || code != CL_SUCCESS)
		printf("link error %d\n", code);
	CHECK((p != NULL) == (code == CL_SUCCESS) || p != NULL);
	return code == CL_SUCCESS ? p : NULL;
}

static unsigned char *binary_of(cl_program p, size_t *size)
{
	CHECK(clGetProgramInfo(p, CL_PROGRAM_BINARY_SIZES, sizeof(*size), size, NULL) == CL_SUCCESS && *size > 0);
	unsigned char *binary = malloc(*size);
	CHECK(binary != NULL && clGetProgramInfo(p, CL_PROGRAM_BINARIES, sizeof(binary), &binary, NULL) == CL_SUCCESS);
	return binary;
}

static cl_program restored(unsigned char *binary, size_t size)
{
	cl_int code, status;
	cl_program q = clCreateProgramWithBinary(context, 1, &device, &size, (const unsigned char **)&binary, &status, &code);
	CHECK(code == CL_SUCCESS && status == CL_SUCCESS && clBuildProgram(q, 1, &device, NULL, NULL, NULL) == CL_SUCCESS);
	free(binary);
	return q;
}

static cl_program again(cl_program p)
{
	size_t size;
	unsigned char *binary = binary_of(p, &size);
	return restored(binary, size);
}

/* Links in a child: what it makes comes back as a binary. NULL: it failed. */
static cl_program link_in_child(char *list)
{
	int ends[2], status;
	size_t size = 0, at = 0;
	CHECK(pipe(ends) == 0);
	pid_t child = fork();
	CHECK(child >= 0);
	if (child == 0) {
		cl_program p = link_units(list);
		unsigned char *binary = p == NULL ? NULL : binary_of(p, &size);
		CHECK(write(ends[1], &size, sizeof(size)) == sizeof(size));
		for (ssize_t n; at < size; at += (size_t)n)
			CHECK((n = write(ends[1], binary + at, size - at)) > 0);
		_exit(0);
	}
	close(ends[1]);
	CHECK(read(ends[0], &size, sizeof(size)) == sizeof(size));
	unsigned char *binary = malloc(size + 1);
	for (ssize_t n; at < size; at += (size_t)n)
		CHECK((n = read(ends[0], binary + at, size - at)) > 0);
	close(ends[0]);
	CHECK(waitpid(child, &status, 0) == child && status == 0);
	return size == 0 ? NULL : restored(binary, size);
}

static bool recorded; /* launches go by a command buffer */

static void launch(cl_kernel k)
{
	size_t one = 1;
	cl_int code;
	cl_platform_id platform;
	if (!recorded) {
		CHECK(clEnqueueNDRangeKernel(queue, k, 1, NULL, &one, &one, 0, NULL, NULL) == CL_SUCCESS);
		return;
	}
	CHECK(clGetDeviceInfo(device, CL_DEVICE_PLATFORM, sizeof(platform), &platform, NULL) == CL_SUCCESS);
#define EXTENSION(type, name) \
	type(*name) = (type(*))(uintptr_t)clGetExtensionFunctionAddressForPlatform(platform, #name); \
	CHECK(name != NULL)
	typedef void *create_fn(cl_uint, const cl_command_queue *, const void *, cl_int *);
	typedef cl_int record_fn(void *, cl_command_queue, const void *, cl_kernel, cl_uint, const size_t *, const size_t *, const size_t *,
		cl_uint, const cl_uint *, cl_uint *, void **);
	typedef cl_int one_fn(void *);
	typedef cl_int enqueue_fn(cl_uint, cl_command_queue *, void *, cl_uint, const cl_event *, cl_event *);
	EXTENSION(create_fn, clCreateCommandBufferKHR);
	EXTENSION(record_fn, clCommandNDRangeKernelKHR);
	EXTENSION(one_fn, clFinalizeCommandBufferKHR);
	EXTENSION(enqueue_fn, clEnqueueCommandBufferKHR);
	EXTENSION(one_fn, clReleaseCommandBufferKHR);
	void *buffer = clCreateCommandBufferKHR(1, &queue, NULL, &code);
	CHECK(code == CL_SUCCESS);
	CHECK(clCommandNDRangeKernelKHR(buffer, NULL, NULL, k, 1, NULL, &one, &one, 0, NULL, NULL, NULL) == CL_SUCCESS);
	CHECK(clFinalizeCommandBufferKHR(buffer) == CL_SUCCESS);
	CHECK(clEnqueueCommandBufferKHR(0, NULL, buffer, 0, NULL, NULL) == CL_SUCCESS);
	CHECK(clFinish(queue) == CL_SUCCESS && clReleaseCommandBufferKHR(buffer) == CL_SUCCESS);
}

static void run(cl_program p)
{
	cl_int code, value = 0;
	if (p == NULL)
		return;
	cl_kernel k = clCreateKernel(p, "k", &code);
	CHECK(code == CL_SUCCESS);
	cl_mem m = clCreateBuffer(context, CL_MEM_COPY_HOST_PTR, sizeof(value), &value, &code);
	CHECK(code == CL_SUCCESS && clSetKernelArg(k, 0, sizeof(m), &m) == CL_SUCCESS);
	if (getenv("UNITS_COMPILE_ONLY") == NULL) {
		launch(k);
		CHECK(clEnqueueReadBuffer(queue, m, CL_TRUE, 0, sizeof(value), &value, 0, NULL, NULL) == CL_SUCCESS);
	}
	printf("made %d\n", value);
	clReleaseKernel(k);
	clReleaseMemObject(m);
	clReleaseProgram(p);
}

static void query(const char *name)
{
	size_t size = 0;
	cl_int code = clGetProgramInfo(units[(unsigned)*name & 127], CL_PROGRAM_BINARY_SIZES, sizeof(size), &size, NULL);
	printf("binary %d %s\n", code, size > 0 ? "there" : "none");
}

static void ask(const char *name)
{
	cl_program p = units[(unsigned)*name & 127];
	cl_build_status status = 99;
	cl_program_binary_type type = 99;
	size_t kernels = 99, size = 99;
	cl_uint references = 99;
	char text[4096];
	cl_int code;
	code = clGetProgramBuildInfo(p, device, CL_PROGRAM_BUILD_STATUS, sizeof(status), &status, NULL);
	printf("status %d %d\n", code, status);
	code = clGetProgramBuildInfo(p, device, CL_PROGRAM_BINARY_TYPE, sizeof(type), &type, NULL);
	printf("type %d %u\n", code, type);
	code = clGetProgramBuildInfo(p, device, CL_PROGRAM_BUILD_OPTIONS, sizeof(text), text, &size);
	printf("options %d %zu %s\n", code, size, text);
	code = clGetProgramBuildInfo(p, device, CL_PROGRAM_BUILD_LOG, sizeof(text), text, &size);
	printf("log %d %s\n", code, text);
	code = clGetProgramBuildInfo(p, device, CL_PROGRAM_BUILD_GLOBAL_VARIABLE_TOTAL_SIZE, sizeof(size), &size, NULL);
	printf("variables %d %zu\n", code, code == 0 ? size : 0);
	code = clGetProgramInfo(p, CL_PROGRAM_NUM_KERNELS, sizeof(kernels), &kernels, NULL);
	printf("kernels %d %zu\n", code, kernels);
	code = clGetProgramInfo(p, CL_PROGRAM_KERNEL_NAMES, sizeof(text), text, &size);
	printf("names %d %zu %s\n", code, code == 0 ? size : 0, code == 0 ? text : "");
	cl_bool there = 99;
	code = clGetProgramInfo(p, CL_PROGRAM_SCOPE_GLOBAL_CTORS_PRESENT, sizeof(there), &there, NULL);
	printf("constructors %d %u\n", code, there);
	code = clGetProgramInfo(p, CL_PROGRAM_REFERENCE_COUNT, sizeof(references), &references, NULL);
	printf("references %d %u\n", code, references);
	code = clGetContextInfo(context, CL_CONTEXT_REFERENCE_COUNT, sizeof(references), &references, NULL);
	printf("of the context %d %u\n", code, references);
	cl_kernel k = clCreateKernel(p, "k", &code);
	printf("kernel %d %d\n", k != NULL, code);
	code = clCreateKernelsInProgram(p, 0, NULL, &references);
	printf("all %d\n", code);
}

static void list_kernels(cl_program p)
{
	cl_kernel all[MOST];
	cl_uint n = 0;
	char name[64];
	CHECK(p != NULL && clCreateKernelsInProgram(p, MOST, all, &n) == CL_SUCCESS);
	printf("kernels");
	for (cl_uint i = 0; i < n; i++) {
		CHECK(clGetKernelInfo(all[i], CL_KERNEL_FUNCTION_NAME, sizeof(name), name, NULL) == CL_SUCCESS);
		printf(" %s", name);
		clReleaseKernel(all[i]);
	}
	printf("\n");
	clReleaseProgram(p);
}

static void digest(cl_program p)
{
	size_t size;
	uint64_t h = UINT64_C(0xcbf29ce484222325);
	CHECK(p != NULL);
	unsigned char *binary = binary_of(p, &size);
	for (size_t i = 0; i < size; i++)
		h = (h ^ binary[i]) * UINT64_C(0x100000001b3);
	printf("binary of %zu bytes, %llx\n", size, (unsigned long long)h);
	free(binary);
	clReleaseProgram(p);
}

int main(int argc, char **argv)
{
	cl_platform_id platform;
	cl_int code;
	setvbuf(stdout, NULL, _IOLBF, 0);
	compile_options = getenv("UNITS_OPTIONS");
	CHECK(clGetPlatformIDs(1, &platform, NULL) == CL_SUCCESS);
	CHECK(clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, NULL) == CL_SUCCESS);
	context = clCreateContext(NULL, 1, &device, NULL, NULL, &code);
	CHECK(code == CL_SUCCESS);
	queue = clCreateCommandQueueWithProperties(context, device, NULL, &code);
	CHECK(code == CL_SUCCESS);
	for (int i = 1; i + 1 < argc; i += 2) {
		char *a = argv[i + 1];
		switch (*argv[i]) {
		case 'h':
			CHECK(i + 2 < argc && nheaders < MOST);
			names[nheaders] = a;
			headers[nheaders++] = create(argv[i++ + 2]);
			break;
		case 'c':
			compile(a);
			break;
		case 'w':
			CHECK(i + 2 < argc);
			write_file(a, argv[i++ + 2]);
			break;
		case 'l':
			run(link_units(a));
			break;
		case 'b':
			recorded = true;
			run(link_units(a));
			break;
		case 'o':
			compile_options = a;
			break;
		case 'y':
			link_options = "-create-library";
			units['y'] = link_units(a);
			link_options = NULL;
			printf("library %d\n", units['y'] != NULL);
			break;
		case 'i': {
			cl_program p = link_units(a);
			run(p == NULL ? NULL : again(p));
			break;
		}
		case 'f':
			run(link_in_child(a));
			break;
		case 'q':
			query(a);
			break;
		case 'k':
			ask(a);
			break;
		case 'n':
			list_kernels(link_units(a));
			break;
		case 'd':
			digest(link_units(a));
			break;
		case 'O':
			link_options = a;
			break;
		case 'a': {
			cl_program p = link_units(a);
			char name[64] = "";
			CHECK(p != NULL);
			cl_kernel k = clCreateKernel(p, "k", &code);
			CHECK(code == CL_SUCCESS);
			code = clGetKernelArgInfo(k, 0, CL_KERNEL_ARG_NAME, sizeof(name), name, NULL);
			printf("argument %d %s\n", code, name);
			clReleaseKernel(k);
			clReleaseProgram(p);
			break;
		}
		case 'g': {
			cl_program p = source(a);
			CHECK(clBuildProgram(p, 1, &device, compile_options, NULL, NULL) == CL_SUCCESS);
			run(p);
			break;
		}
		case 'e': {
			cl_program p = source(a);
			CHECK(clBuildProgram(p, 1, &device, compile_options, NULL, NULL) == CL_SUCCESS);
			digest(p);
			break;
		}
		case 'v':
			CHECK(i + 2 < argc && setenv(a, argv[i + 2], 1) == 0);
			i++;
			break;
		case 'x':
			CHECK(unsetenv(a) == 0);
			break;
		case 'p': {
			char path[64], text[4096] = "";
			const char *at = text;
			snprintf(path, sizeof(path), "%s.cl", a);
			FILE *f = fopen(path, "r");
			CHECK(f != NULL);
			size_t size = fread(text, 1, sizeof(text) - 2, f) + 1;
			fclose(f);
			cl_program p = clCreateProgramWithSource(context, 1, &at, &size, &code);
			CHECK(p != NULL && clBuildProgram(p, 1, &device, compile_options, NULL, NULL) == CL_SUCCESS);
			break;
		}
		case 'r':
			clReleaseProgram(units[(unsigned)*a & 127]);
			break;
		default:
			CHECK(false);
		}
	}
	/* Where PoCL compiled jobs are left in the place of entries: the report alone counts. */
	const char *wanted = getenv("UNITS_ASKED");
	setenv("KERNSTASH_TRACE_FILE", "", 1);
	settle(wanted == NULL ? 0 : atol(wanted), 300);
	return 0;
}
