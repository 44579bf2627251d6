/*
 * stress.c: the shim between an application and the fake driver, in many ways;
 * stress NAME... does the named things in order. It fails where the application
 * could tell the difference.
 */
#define CL_TARGET_OPENCL_VERSION 300
#define CL_USE_DEPRECATED_OPENCL_1_2_APIS
#define CL_USE_DEPRECATED_OPENCL_2_2_APIS
#include <CL/cl.h>

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

void fake_driver_counts(long *programs, long *kernels, long *built, long *restored);
void kernstash_layer_aside(int on) __attribute__((weak));

static cl_context context;
static cl_command_queue queue;
static cl_device_id devices[4];

#define CHECK(what) \
	do { \
		if (!(what)) { \
			fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #what); \
			_exit(3); \
		} \
	} while (0)

static cl_program make(int number)
{
	char text[256];
	const char *source = text;
	snprintf(text, sizeof(text), "/* %d */ kernel void first(int *first, int *second) kernel void second_%d()", number, number);
	cl_int code;
	cl_program p = clCreateProgramWithSource(context, 1, &source, NULL, &code);
	CHECK(p != NULL && code == CL_SUCCESS);
	return p;
}

static cl_uint references(cl_program p)
{
	cl_uint n = 0;
	CHECK(clGetProgramInfo(p, CL_PROGRAM_REFERENCE_COUNT, sizeof(n), &n, NULL) == CL_SUCCESS);
	return n;
}

static cl_build_status status(cl_program p)
{
	cl_build_status s = 77;
	CHECK(clGetProgramBuildInfo(p, devices[0], CL_PROGRAM_BUILD_STATUS, sizeof(s), &s, NULL) == CL_SUCCESS);
	return s;
}

/* A built program is used in every way. */
static void use(cl_program p)
{
	cl_int code = 77;
	cl_kernel k[4];
	cl_uint n = 0;
	cl_program parent = NULL;
	char text[256];
	const size_t global[2] = {64, 2}, local[2] = {8, 1};

	CHECK(status(p) == CL_BUILD_SUCCESS);
	cl_uint before = references(p);
	cl_kernel one = clCreateKernel(p, "first", &code);
	CHECK(one != NULL && code == CL_SUCCESS);
	CHECK(references(p) == before + 1);
	CHECK(clGetKernelInfo(one, CL_KERNEL_PROGRAM, sizeof(parent), &parent, NULL) == CL_SUCCESS && parent == p);
	CHECK(clGetKernelInfo(one, CL_KERNEL_ATTRIBUTES, sizeof(text), text, NULL) == CL_SUCCESS && strcmp(text, "attribute") == 0);
	CHECK(clGetKernelArgInfo(one, 1, CL_KERNEL_ARG_NAME, sizeof(text), text, NULL) == CL_SUCCESS && strcmp(text, "second") == 0);
	CHECK(clGetKernelArgInfo(one, 2, CL_KERNEL_ARG_NAME, sizeof(text), text, NULL) == CL_INVALID_ARG_INDEX);
	CHECK(clCreateKernel(p, "none", &code) == NULL && code == CL_INVALID_KERNEL_NAME);
	CHECK(clBuildProgram(p, 0, NULL, "-other", NULL, NULL) == CL_INVALID_OPERATION);
	for (int i = 0; i < 3; i++) {
		CHECK(clEnqueueNDRangeKernel(queue, one, 1, NULL, global, local, 0, NULL, NULL) == CL_SUCCESS);
		CHECK(clEnqueueNDRangeKernel(queue, one, 2, NULL, global, NULL, 0, NULL, NULL) == CL_SUCCESS);
	}
	CHECK(clCreateKernelsInProgram(p, 4, k, &n) == CL_SUCCESS && n == 2);
	CHECK(clGetKernelInfo(k[0], CL_KERNEL_FUNCTION_NAME, sizeof(text), text, NULL) == CL_SUCCESS && strcmp(text, "first") == 0);
	CHECK(references(p) == before + 3);
	CHECK(clRetainKernel(k[0]) == CL_SUCCESS && clReleaseKernel(k[0]) == CL_SUCCESS);
	CHECK(clReleaseKernel(k[0]) == CL_SUCCESS && clReleaseKernel(k[1]) == CL_SUCCESS);
	CHECK(clReleaseKernel(one) == CL_SUCCESS);
	CHECK(references(p) == before);
	CHECK(clGetProgramInfo(p, CL_PROGRAM_KERNEL_NAMES, sizeof(text), text, NULL) == CL_SUCCESS);
	CHECK(strncmp(text, "first;second_", 13) == 0);
}

static void once(int number)
{
	cl_program p = make(number);
	CHECK(clBuildProgram(p, 0, NULL, number % 2 ? "-x" : NULL, NULL, NULL) == CL_SUCCESS);
	use(p);
	CHECK(clReleaseProgram(p) == CL_SUCCESS);
}

static void *worker(void *argument)
{
	int number = *(int *)argument;
	for (int i = 0; i < 20; i++) {
		once(i % 5);           /* the same for all */
		once(1000 * number + i); /* and its own */
	}
	return NULL;
}

static void threads(void)
{
	pthread_t ids[8];
	int numbers[8];
	for (int i = 0; i < 8; i++) {
		numbers[i] = i + 1;
		CHECK(pthread_create(&ids[i], NULL, worker, &numbers[i]) == 0);
	}
	for (int i = 0; i < 8; i++)
		pthread_join(ids[i], NULL);
}

/* Many threads build one program object. */
static cl_program shared;
static void *build_shared(void *argument)
{
	(void)argument;
	for (int i = 0; i < 50; i++)
		clBuildProgram(shared, 0, NULL, i % 2 ? "-a" : "-b", NULL, NULL);
	return NULL;
}

static void same(void)
{
	pthread_t ids[4];
	shared = make(7);
	for (int i = 0; i < 4; i++)
		CHECK(pthread_create(&ids[i], NULL, build_shared, NULL) == 0);
	for (int i = 0; i < 4; i++)
		pthread_join(ids[i], NULL);
	CHECK(status(shared) == CL_BUILD_SUCCESS);
	use(shared);
	clReleaseProgram(shared);
}

static void *small_worker(void *argument)
{
	once(*(int *)argument);
	return NULL;
}

static void small(void)
{
	int number = 70;
	pthread_attr_t attributes;
	pthread_t id;
	pthread_attr_init(&attributes);
	CHECK(pthread_attr_setstacksize(&attributes, 64 << 10) == 0);
	CHECK(pthread_create(&id, &attributes, small_worker, &number) == 0);
	pthread_join(id, NULL);
	pthread_attr_destroy(&attributes);
}

static atomic_int called;
static void CL_CALLBACK notify(cl_program p, void *data)
{
	CHECK(data == &called);
	if (status(p) == CL_BUILD_SUCCESS)
		use(p);
	clReleaseProgram(p);
	atomic_fetch_add(&called, 1);
}

static void callbacks(void)
{
	for (int i = 0; i < 4; i++) {
		cl_program p = make(50 + i / 2);
		clRetainProgram(p);
		atomic_store(&called, 0);
		CHECK(clBuildProgram(p, 0, NULL, "-c", notify, &called) == CL_SUCCESS);
		for (int tries = 0; atomic_load(&called) == 0 && tries < 180000; tries++)
			usleep(1000);
		usleep(30000);
		CHECK(atomic_load(&called) == 1);
		clReleaseProgram(p);
	}
	const char *source = "#error";
	cl_program p = clCreateProgramWithSource(context, 1, &source, NULL, NULL);
	clRetainProgram(p);
	atomic_store(&called, 0);
	clBuildProgram(p, 0, NULL, NULL, notify, &called);
	for (int tries = 0; atomic_load(&called) == 0 && tries < 180000; tries++)
		usleep(1000);
	CHECK(atomic_load(&called) == 1);
	CHECK(status(p) == CL_BUILD_ERROR);
	clReleaseProgram(p);
}

static bool destroyed;
static void CL_CALLBACK on_release(cl_program p, void *data)
{
	(void)p, (void)data;
	destroyed = true;
}

static void lifetimes(void)
{
	cl_program parent = NULL, p = make(90);
	destroyed = false;
	CHECK(clSetProgramReleaseCallback(p, on_release, NULL) == CL_SUCCESS);
	CHECK(clBuildProgram(p, 0, NULL, NULL, NULL, NULL) == CL_SUCCESS);
	cl_kernel k = clCreateKernel(p, "first", NULL);
	clReleaseProgram(p);
	CHECK(!destroyed);
	CHECK(clGetKernelInfo(k, CL_KERNEL_PROGRAM, sizeof(parent), &parent, NULL) == CL_SUCCESS && parent == p);
	clRetainProgram(parent);
	clReleaseKernel(k);
	CHECK(!destroyed);
	use(parent);
	clReleaseProgram(parent);
	CHECK(destroyed);
}

/* Other options, device after device, and a failure in between. */
static void rebuilds(void)
{
	cl_program p = make(60);
	static const char *const options[] = {NULL, "", "-a", "-b", "-a"};
	for (int i = 0; i < 5; i++) {
		CHECK(clBuildProgram(p, 0, NULL, options[i], NULL, NULL) == CL_SUCCESS);
		use(p);
	}
	for (int i = 0; i < 2; i++) {
		CHECK(clBuildProgram(p, 1, &devices[i], "-d", NULL, NULL) == CL_SUCCESS);
		CHECK(status(p) == CL_BUILD_SUCCESS);
	}
	use(p);
	CHECK(clBuildProgram(p, 1, NULL, NULL, NULL, NULL) == CL_INVALID_VALUE);
	CHECK(clBuildProgram(p, 0, NULL, NULL, NULL, &p) == CL_INVALID_VALUE);
	CHECK(status(p) == CL_BUILD_SUCCESS);
	clReleaseProgram(p);
}

static void forked(void)
{
	fflush(NULL);
	pid_t child = fork();
	if (child == 0) {
		for (int i = 0; i < 3; i++)
			once(i);
		_exit(0);
	}
	int how = 77;
	CHECK(waitpid(child, &how, 0) == child);
	CHECK(WIFEXITED(how) && WEXITSTATUS(how) == 0);
}

/* A restored program goes on being one in a child. */
static void forked_with(void)
{
	cl_program p = make(1);
	CHECK(clBuildProgram(p, 0, NULL, "-x", NULL, NULL) == CL_SUCCESS);
	cl_kernel k = clCreateKernel(p, "first", NULL);
	fflush(NULL);
	pid_t child = fork();
	if (child == 0) {
		char text[32];
		CHECK(clGetKernelInfo(k, CL_KERNEL_ATTRIBUTES, sizeof(text), text, NULL) == CL_SUCCESS);
		CHECK(strcmp(text, "attribute") == 0);
		clReleaseKernel(k);
		use(p);
		CHECK(clBuildProgram(p, 0, NULL, "-other", NULL, NULL) == CL_SUCCESS);
		use(p);
		clReleaseProgram(p);
		_exit(0);
	}
	int how = 77;
	CHECK(waitpid(child, &how, 0) == child);
	CHECK(WIFEXITED(how) && WEXITSTATUS(how) == 0);
	clReleaseKernel(k);
	clReleaseProgram(p);
}

static cl_program compiled(const char *text, cl_uint nheaders, cl_program header)
{
	const char *name = "h.h";
	cl_program p = clCreateProgramWithSource(context, 1, &text, NULL, NULL);
	CHECK(p != NULL);
	CHECK(clCompileProgram(p, 0, NULL, "-c", nheaders, nheaders > 0 ? &header : NULL, nheaders > 0 ? &name : NULL, NULL, NULL) ==
		CL_SUCCESS);
	return p;
}

static cl_program linked(cl_program a, cl_program b)
{
	cl_int code = 77;
	cl_program inputs[2] = {a, b}, p = clLinkProgram(context, 1, devices, NULL, 2, inputs, NULL, NULL, &code);
	CHECK(p != NULL && code == CL_SUCCESS);
	return p;
}

static const char unit_a[] = "/* a */ kernel void first(int *first, int *second)";
static const char unit_b[] = " kernel void second_b()";

/* What a compiled program says. */
static void check_compiled(cl_program p)
{
	size_t size = 0;
	char object[256] = "", *to = object;
	cl_program_binary_type type = 77;
	cl_int code = 77;
	CHECK(status(p) == CL_BUILD_SUCCESS);
	CHECK(clGetProgramBuildInfo(p, devices[0], CL_PROGRAM_BINARY_TYPE, sizeof(type), &type, NULL) == CL_SUCCESS &&
		type == CL_PROGRAM_BINARY_TYPE_COMPILED_OBJECT);
	CHECK(clGetProgramInfo(p, CL_PROGRAM_BINARY_SIZES, sizeof(size), &size, NULL) == CL_SUCCESS && size > 3);
	CHECK(clGetProgramInfo(p, CL_PROGRAM_BINARIES, sizeof(to), &to, NULL) == CL_SUCCESS && strncmp(object, "obj", 3) == 0);
	CHECK(clGetProgramBuildInfo(p, devices[0], CL_PROGRAM_BUILD_OPTIONS, sizeof(object), object, NULL) == CL_SUCCESS &&
		strcmp(object, "-c") == 0);
	CHECK(clCreateKernel(p, "first", &code) == NULL && code != CL_SUCCESS);
	CHECK(references(p) == 1);
}

/* Programs that are compiled and linked, used and given up in all orders. */
static void separately(void)
{
	for (int i = 0; i < 8; i++) {
		cl_program header = make(1000), a = compiled(unit_a, (cl_uint)i % 2, header), b = compiled(unit_b, 0, NULL);
		clReleaseProgram(header);
		if (i == 2)
			check_compiled(a);
		cl_program p = linked(a, b), q = i == 3 ? linked(a, b) : NULL;
		if (i == 4)
			check_compiled(b);
		if (i == 5)
			CHECK(clCompileProgram(a, 0, NULL, "-d", 0, NULL, NULL, NULL, NULL) == CL_SUCCESS);
		if (i == 6) { /* built after all */
			CHECK(clBuildProgram(a, 0, NULL, "-e", NULL, NULL) == CL_SUCCESS);
			cl_kernel k = clCreateKernel(a, "first", NULL);
			CHECK(k != NULL && clCompileProgram(a, 0, NULL, NULL, 0, NULL, NULL, NULL, NULL) == CL_INVALID_OPERATION);
			clReleaseKernel(k);
		}
		if (i % 4 < 2) {
			clReleaseProgram(a);
			clReleaseProgram(b);
		}
		use(p);
		if (q != NULL)
			use(q);
		clReleaseProgram(p);
		if (q != NULL)
			clReleaseProgram(q);
		if (i % 4 >= 2) {
			clReleaseProgram(b);
			clReleaseProgram(a);
		}
	}
	/* One that is not compiled, and calls that make no sense. */
	cl_int code = 77;
	cl_program a = make(1);
	CHECK(clLinkProgram(context, 0, NULL, NULL, 1, &a, NULL, NULL, &code) == NULL && code == CL_INVALID_OPERATION);
	CHECK(clLinkProgram(context, 0, NULL, NULL, 0, NULL, NULL, NULL, &code) == NULL && code == CL_INVALID_VALUE);
	CHECK(clLinkProgram(NULL, 0, NULL, NULL, 1, &a, NULL, NULL, &code) == NULL && code == CL_INVALID_CONTEXT);
	CHECK(clLinkProgram(context, 0, NULL, NULL, 1, &a, NULL, &code, NULL) == NULL);
	CHECK(clCompileProgram(a, 1, NULL, NULL, 0, NULL, NULL, NULL, NULL) == CL_INVALID_VALUE);
	CHECK(clCompileProgram(a, 0, NULL, NULL, 1, NULL, NULL, NULL, NULL) == CL_INVALID_VALUE);
	CHECK(clCompileProgram(a, 0, NULL, NULL, 0, NULL, NULL, NULL, &code) == CL_INVALID_VALUE);
	CHECK(clCompileProgram(NULL, 0, NULL, NULL, 0, NULL, NULL, NULL, NULL) == CL_INVALID_PROGRAM);
	clReleaseProgram(a);
}

/* Threads that use the same compiled programs. */
static cl_program shared_a, shared_b;
static void *link_shared(void *argument)
{
	for (int i = 0; i < 20; i++) {
		cl_program p = linked(shared_a, shared_b);
		use(p);
		clReleaseProgram(p);
		if (*(int *)argument % 2 == 1)
			check_compiled(shared_a);
	}
	return NULL;
}

static void together(void)
{
	pthread_t ids[4];
	int numbers[4] = {0, 1, 2, 3};
	shared_a = compiled(unit_a, 0, NULL);
	shared_b = compiled(unit_b, 0, NULL);
	for (int i = 0; i < 4; i++)
		CHECK(pthread_create(&ids[i], NULL, link_shared, &numbers[i]) == 0);
	for (int i = 0; i < 4; i++)
		pthread_join(ids[i], NULL);
	clReleaseProgram(shared_a);
	clReleaseProgram(shared_b);
}

static void *build_once(void *p)
{
	CHECK(clBuildProgram(p, 0, NULL, "-x", NULL, NULL) == CL_SUCCESS);
	return NULL;
}

/* A child of a process in which another thread builds the same program. */
static void forked_during(void)
{
	cl_program p = make(1);
	pthread_t id;
	CHECK(pthread_create(&id, NULL, build_once, p) == 0);
	usleep(200000);
	fflush(NULL);
	pid_t child = fork();
	if (child == 0) {
		alarm(240);
		build_once(p);
		CHECK(status(p) == CL_BUILD_SUCCESS);
		_exit(0);
	}
	int how = 77;
	CHECK(waitpid(child, &how, 0) == child);
	CHECK(WIFEXITED(how) && WEXITSTATUS(how) == 0);
	pthread_join(id, NULL);
	use(p);
	clReleaseProgram(p);
}

/* What was restored from one form answers with another. */
static void answers(void)
{
	cl_program p = make(3);
	size_t size = 0;
	char binary[256] = "", *to = binary;
	long unused, built = 0, before = 0;
	fake_driver_counts(&unused, &unused, &before, &unused);
	CHECK(clBuildProgram(p, 0, NULL, NULL, NULL, NULL) == CL_SUCCESS);
	fake_driver_counts(&unused, &unused, &built, &unused);
	CHECK(clGetProgramInfo(p, CL_PROGRAM_BINARY_SIZES, sizeof(size), &size, NULL) == CL_SUCCESS);
	CHECK(clGetProgramInfo(p, CL_PROGRAM_BINARIES, sizeof(to), &to, NULL) == CL_SUCCESS);
	if (built == before)
		CHECK(size == 10 && strcmp(binary, "the answer") == 0);
	else
		CHECK(strncmp(binary, "bin", 3) == 0);
	use(p);
	clReleaseProgram(p);
}

static void *ask_for_binaries(void *argument)
{
	cl_program p = argument;
	size_t sizes[4] = {0};
	char binaries[4][256] = {""}, *to[4] = {binaries[0], binaries[1], binaries[2], binaries[3]};
	CHECK(clGetProgramInfo(p, CL_PROGRAM_BINARY_SIZES, sizeof(sizes), sizes, NULL) == CL_SUCCESS && sizes[0] > 3);
	CHECK(clGetProgramInfo(p, CL_PROGRAM_BINARIES, sizeof(to), to, NULL) == CL_SUCCESS);
	CHECK(strncmp(binaries[0], "bin/* 4 */", 10) == 0 && strlen(binaries[0]) == sizes[0]);
	return NULL;
}

static void all_ask(cl_program p)
{
	pthread_t ids[4];
	for (int i = 0; i < 4; i++)
		CHECK(pthread_create(&ids[i], NULL, ask_for_binaries, p) == 0);
	for (int i = 0; i < 4; i++)
		pthread_join(ids[i], NULL);
}

/* Threads that ask for a binary which the driver has to build the program for. */
static void asked_together(void)
{
	cl_program p = make(4);
	CHECK(clBuildProgram(p, 0, NULL, NULL, NULL, NULL) == CL_SUCCESS);
	all_ask(p);
	use(p);
	clReleaseProgram(p);
}

/* The same in a child of a process in which threads wait for each other. */
static void asked_in_a_child(void)
{
	cl_program all[4];
	pthread_t ids[2];
	for (int i = 0; i < 4; i++) {
		all[i] = make(4);
		CHECK(clBuildProgram(all[i], 0, NULL, NULL, NULL, NULL) == CL_SUCCESS);
	}
	for (int i = 0; i < 2; i++)
		CHECK(pthread_create(&ids[i], NULL, ask_for_binaries, all[0]) == 0);
	usleep(30000);
	fflush(NULL);
	pid_t child = fork();
	if (child == 0) {
		alarm(240);
		for (int i = 1; i < 4; i++)
			all_ask(all[i]);
		_exit(0);
	}
	int how = 77;
	CHECK(waitpid(child, &how, 0) == child);
	CHECK(WIFEXITED(how) && WEXITSTATUS(how) == 0);
	for (int i = 0; i < 2; i++)
		pthread_join(ids[i], NULL);
	for (int i = 0; i < 4; i++)
		clReleaseProgram(all[i]);
}

/* A thread that is cancelled ends, and nobody else waits for it: it was about to build,
 * waits for another thread that builds the same program, or for the library on a stack
 * of ours. */
static void cancelled(void)
{
	alarm(240);
	for (int small = 0; small < 2; small++) {
		cl_program p = make(1 + small), q = make(3 + small);
		pthread_t ids[3];
		pthread_attr_t attributes;
		void *how = NULL;
		pthread_attr_init(&attributes);
		if (small)
			CHECK(pthread_attr_setstacksize(&attributes, 64 << 10) == 0);
		CHECK(pthread_create(&ids[0], &attributes, build_once, p) == 0);
		usleep(100000);
		CHECK(pthread_create(&ids[1], &attributes, build_once, p) == 0);
		CHECK(pthread_create(&ids[2], &attributes, build_once, q) == 0);
		usleep(100000);
		for (int i = 1; i < 3; i++)
			CHECK(pthread_cancel(ids[i]) == 0);
		for (int i = 0; i < 3; i++)
			CHECK(pthread_join(ids[i], &how) == 0);
		build_once(q);
		use(p);
		use(q);
		clReleaseProgram(p);
		clReleaseProgram(q);
		pthread_attr_destroy(&attributes);
	}
}

static void aside(void)
{
	CHECK(kernstash_layer_aside != NULL);
	kernstash_layer_aside(1);
	once(1);
	kernstash_layer_aside(0);
}

static void loop(void)
{
	for (int i = 0; i < 1000; i++)
		once(i % 10);
}

static void first(void) { once(1); }

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		void (*of)(void);
	} parts[] = {{"first", first}, {"loop", loop}, {"threads", threads}, {"same", same}, {"small", small},
		{"callbacks", callbacks}, {"lifetimes", lifetimes}, {"rebuilds", rebuilds}, {"forked", forked},
		{"forked-with", forked_with}, {"aside", aside}, {"answers", answers},
		{"asked-together", asked_together}, {"asked-in-a-child", asked_in_a_child}, {"cancelled", cancelled},
		{"forked-during", forked_during}, {"separately", separately}, {"together", together}};
	cl_platform_id platform;
	CHECK(clGetPlatformIDs(1, &platform, NULL) == CL_SUCCESS);
	CHECK(clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 4, devices, NULL) == CL_SUCCESS);
	context = clCreateContext(NULL, 1, devices, NULL, NULL, NULL);
	queue = clCreateCommandQueue(context, devices[0], 0, NULL);
	for (int i = 1; i < argc; i++) {
		bool found = false;
		for (size_t j = 0; j < sizeof(parts) / sizeof(parts[0]); j++) {
			if (strcmp(argv[i], parts[j].name) == 0) {
				parts[j].of();
				found = true;
			}
		}
		CHECK(found);
	}
	long programs = 0, kernels = 0, built = 0, restored = 0;
	fake_driver_counts(&programs, &kernels, &built, &restored);
	CHECK(programs == 0 && kernels == 0);
	printf("built %ld restored %ld\n", built, restored);
	clReleaseContext(context);
	return 0;
}
