/*
 * fake_driver.c: an OpenCL library without a compiler, for what no real driver
 * can be made to do: it counts its objects, aborts when it is given a dead one,
 * and calls back from another thread (FAKE_DRIVER=async), or compiles for a while (slow). One platform with four
 * devices; a program's binary is "bin" and its source; kernels are what follows
 * "kernel void ". With FAKE_COMPILES it tells what each compilation is of. With FAKE_DRIVER=crashes, or crashes-async, its compiler crashes, and
 * recovers where nobody else handles that, as IGC 2 does. With
 * FAKE_DRIVER=nvidia its platform has the name of NVIDIA's.
 */
#define CL_TARGET_OPENCL_VERSION 300
#define CL_USE_DEPRECATED_OPENCL_1_2_APIS
#define CL_USE_DEPRECATED_OPENCL_2_2_APIS
#include <CL/cl.h>

#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define EXPORT __attribute__((visibility("default")))

enum { DEVICES = 4, PROGRAM = 0x50524f47, KERNEL = 0x4b45524e };

struct _cl_platform_id { int unused; };
struct _cl_device_id { int number; };
struct _cl_context { int references; };
struct _cl_command_queue { int unused; };

struct _cl_program {
	int magic, references, kernels;
	bool from_binary;
	bool object; /* compiled, not linked */
	bool il;
	int constant; /* the last one set */
	char *code, *options;
	size_t size;
	cl_build_status status[DEVICES];
	cl_uint n;
	cl_device_id devices[DEVICES];
	void(CL_CALLBACK *destroyed)(cl_program, void *);
	void *destroyed_data;
};

struct _cl_kernel {
	int magic, references;
	cl_program program;
	char name[64];
};

static struct _cl_platform_id platform;
static struct _cl_device_id devices[DEVICES] = {{0}, {1}, {2}, {3}};
static struct _cl_context context;
static struct _cl_command_queue queue;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static long live_programs, live_kernels, builds, restores;

static void check(bool good, const char *what)
{
	if (good)
		return;
	fprintf(stderr, "fake driver: %s\n", what);
	abort();
}

/* With FAKE_CALLS each call that makes or gives something is told of; with "all" each that asks what a device is, too. */
static void call(const char *name)
{
	if (getenv("FAKE_CALLS") != NULL)
		fprintf(stderr, "call %s\n", name);
}

static bool fault(const char *name)
{
	const char *f = getenv("FAKE_DRIVER");
	return f != NULL && strcmp(f, name) == 0;
}

static _Thread_local sigjmp_buf recovered;

static void recover(int number)
{
	(void)number;
	siglongjmp(recovered, 1);
}

/* Every compilation, in the thread that it goes on in. */
static void compiler(const char *what)
{
	static pthread_mutex_t one = PTHREAD_MUTEX_INITIALIZER;
	const struct sigaction ours = {.sa_handler = recover};
	struct sigaction theirs;
	if (!fault("crashes") && !fault("crashes-async"))
		return;
	pthread_mutex_lock(&one);
	if (sigaction(SIGSEGV, NULL, &theirs) != 0 || theirs.sa_handler != SIG_DFL) {
		printf("%s: somebody handles crashes\n", what);
	} else {
		sigaction(SIGSEGV, &ours, &theirs);
		if (sigsetjmp(recovered, 1) == 0)
			*(volatile int *)8 = 0;
		sigaction(SIGSEGV, &theirs, NULL);
		printf("%s: recovered\n", what);
	}
	pthread_mutex_unlock(&one);
}

/* With FAKE_COMPILES each compilation of code tells what it is made of. */
static void tell(const char *what, cl_program p, cl_uint n)
{
	if (getenv("FAKE_COMPILES") == NULL)
		return;
	volatile double one = 1, little = 1e-30;
	printf("%s for %u of %u, constant %d, %s arithmetic\n", what, n == 0 ? p->n : n, p->n, p->constant,
		one + little == one ? "default" : "another");
}

static cl_int give(const void *value, size_t size, size_t room, void *to, size_t *ret)
{
	if (to != NULL && room < size)
		return CL_INVALID_VALUE;
	if (to != NULL)
		memcpy(to, value, size);
	if (ret != NULL)
		*ret = size;
	return CL_SUCCESS;
}

EXPORT void fake_driver_counts(long *programs, long *kernels, long *built, long *restored);
EXPORT void fake_driver_counts(long *programs, long *kernels, long *built, long *restored)
{
	pthread_mutex_lock(&lock);
	*programs = live_programs;
	*kernels = live_kernels;
	*built = builds;
	*restored = restores;
	pthread_mutex_unlock(&lock);
}

EXPORT cl_int clGetPlatformIDs(cl_uint n, cl_platform_id *to, cl_uint *ret)
{
	if (n > 0 && to != NULL)
		*to = &platform;
	if (ret != NULL)
		*ret = 1;
	return CL_SUCCESS;
}

/* What loaders find drivers by. */
EXPORT cl_int clIcdGetPlatformIDsKHR(cl_uint n, cl_platform_id *to, cl_uint *ret);
EXPORT cl_int clIcdGetPlatformIDsKHR(cl_uint n, cl_platform_id *to, cl_uint *ret) { return clGetPlatformIDs(n, to, ret); }

EXPORT cl_int clGetDeviceIDs(cl_platform_id p, cl_device_type type, cl_uint n, cl_device_id *to, cl_uint *ret)
{
	(void)p, (void)type;
	for (cl_uint i = 0; to != NULL && i < n && i < DEVICES; i++)
		to[i] = &devices[i];
	if (ret != NULL)
		*ret = DEVICES;
	return CL_SUCCESS;
}

EXPORT cl_int clGetPlatformInfo(cl_platform_id p, cl_platform_info what, size_t room, void *to, size_t *ret)
{
	(void)p, (void)what;
	const char *name = fault("oclgrind") ? "Oclgrind" : "Fake";
	return give(name, strlen(name) + 1, room, to, ret);
}

EXPORT cl_int clGetDeviceInfo(cl_device_id d, cl_device_info what, size_t room, void *to, size_t *ret)
{
	cl_platform_id p = &platform;
	char name[16];
	if (what == CL_DEVICE_PLATFORM)
		return give(&p, sizeof(p), room, to, ret); /* by which it is told that the driver is not known */
	if (getenv("FAKE_CALLS") != NULL && strcmp(getenv("FAKE_CALLS"), "all") == 0)
		call("clGetDeviceInfo");
	snprintf(name, sizeof(name), "device %d", d->number);
	return give(name, strlen(name) + 1, room, to, ret);
}

EXPORT cl_context clCreateContext(const cl_context_properties *properties, cl_uint n, const cl_device_id *list,
	void(CL_CALLBACK *notify)(const char *, const void *, size_t, void *), void *data, cl_int *code)
{
	(void)properties, (void)n, (void)list, (void)notify, (void)data;
	if (code != NULL)
		*code = CL_SUCCESS;
	return &context;
}

EXPORT cl_int clGetContextInfo(cl_context c, cl_context_info what, size_t room, void *to, size_t *ret)
{
	cl_uint one = 1;
	cl_device_id first = &devices[0];
	if (c == NULL)
		return CL_INVALID_CONTEXT;
	if (what == CL_CONTEXT_DEVICES)
		return give(&first, sizeof(first), room, to, ret);
	check(c == &context && what == CL_CONTEXT_REFERENCE_COUNT, "an unknown context");
	return give(&one, sizeof(one), room, to, ret);
}

EXPORT cl_int clReleaseContext(cl_context c) { return c == &context ? CL_SUCCESS : CL_INVALID_CONTEXT; }

EXPORT cl_command_queue clCreateCommandQueue(cl_context c, cl_device_id d, cl_command_queue_properties properties, cl_int *code)
{
	(void)c, (void)d, (void)properties;
	if (code != NULL)
		*code = CL_SUCCESS;
	return &queue;
}

static cl_program add(const void *code, size_t size, bool from_binary, cl_uint n, const cl_device_id *list)
{
	cl_program p = calloc(1, sizeof(*p));
	p->magic = PROGRAM;
	p->references = 1;
	p->code = malloc(size + 1);
	memcpy(p->code, code, size);
	p->code[size] = 0;
	p->size = size;
	p->from_binary = from_binary;
	p->n = n;
	for (cl_uint i = 0; i < DEVICES; i++)
		p->status[i] = CL_BUILD_NONE;
	memcpy(p->devices, list, n * sizeof(*list));
	pthread_mutex_lock(&lock);
	live_programs++;
	pthread_mutex_unlock(&lock);
	return p;
}

EXPORT cl_program clCreateProgramWithSource(cl_context c, cl_uint count, const char **strings, const size_t *lengths, cl_int *code)
{
	call("clCreateProgramWithSource");
	cl_device_id all[DEVICES] = {&devices[0], &devices[1], &devices[2], &devices[3]};
	const char *number = getenv("FAKE_DEVICES");
	(void)c;
	if (code != NULL)
		*code = count == 1 ? CL_SUCCESS : CL_INVALID_VALUE;
	return count != 1 ? NULL
					  : add(strings[0], lengths == NULL || lengths[0] == 0 ? strlen(strings[0]) : lengths[0], false,
							number == NULL ? 1 : (cl_uint)atoi(number), all);
}

EXPORT cl_program clCreateProgramWithIL(cl_context c, const void *il, size_t size, cl_int *code)
{
	cl_program p = clCreateProgramWithSource(c, 1, (const char **)&il, &size, code);
	p->il = true;
	return p;
}

EXPORT cl_int clSetProgramSpecializationConstant(cl_program p, cl_uint id, size_t size, const void *value)
{
	(void)id;
	if (!p->il)
		return CL_INVALID_PROGRAM;
	if (size != sizeof(p->constant))
		return CL_INVALID_VALUE;
	pthread_mutex_lock(&lock);
	memcpy(&p->constant, value, size);
	pthread_mutex_unlock(&lock);
	return CL_SUCCESS;
}

EXPORT cl_program clCreateProgramWithBinary(cl_context c, cl_uint n, const cl_device_id *list, const size_t *lengths,
	const unsigned char **binaries, cl_int *status, cl_int *code)
{
	call("clCreateProgramWithBinary");
	cl_int result = CL_SUCCESS;
	(void)c;
	for (cl_uint i = 0; i < n; i++) {
		bool good = lengths[i] >= 3 && (memcmp(binaries[i], "bin", 3) == 0 || memcmp(binaries[i], "obj", 3) == 0);
		if (status != NULL)
			status[i] = good ? CL_SUCCESS : CL_INVALID_BINARY;
		if (!good)
			result = CL_INVALID_BINARY;
	}
	if (fault("memory"))
		result = CL_OUT_OF_HOST_MEMORY;
	if (code != NULL)
		*code = result;
	if (result != CL_SUCCESS)
		return NULL;
	cl_program p = add(binaries[0] + 3, lengths[0] - 3, true, n, list);
	p->object = memcmp(binaries[0], "obj", 3) == 0;
	return p;
}

EXPORT cl_int clRetainProgram(cl_program p)
{
	check(p->magic == PROGRAM, "retain of a dead program");
	pthread_mutex_lock(&lock);
	p->references++;
	pthread_mutex_unlock(&lock);
	return CL_SUCCESS;
}

EXPORT cl_int clReleaseProgram(cl_program p)
{
	check(p->magic == PROGRAM, "release of a dead program");
	pthread_mutex_lock(&lock);
	bool last = --p->references == 0;
	live_programs -= last;
	pthread_mutex_unlock(&lock);
	if (last) {
		if (p->destroyed != NULL)
			p->destroyed(p, p->destroyed_data);
		p->magic = 0;
		free(p->code);
		free(p->options);
		free(p);
	}
	return CL_SUCCESS;
}

EXPORT cl_int clSetProgramReleaseCallback(cl_program p, void(CL_CALLBACK *notify)(cl_program, void *), void *data)
{
	p->destroyed = notify;
	p->destroyed_data = data;
	return CL_SUCCESS;
}

struct later {
	cl_program program;
	void(CL_CALLBACK *notify)(cl_program, void *);
	void *data;
	cl_build_status status;
};

static void set_status(cl_program p, cl_build_status status)
{
	pthread_mutex_lock(&lock);
	for (cl_uint i = 0; i < DEVICES; i++)
		p->status[i] = status;
	pthread_mutex_unlock(&lock);
}

static void set_status_of(cl_program p, cl_uint n, const cl_device_id *list, cl_build_status status)
{
	pthread_mutex_lock(&lock);
	for (cl_uint i = 0; i < p->n; i++) {
		bool wanted = list == NULL;
		for (cl_uint j = 0; j < n; j++)
			wanted = wanted || list[j] == p->devices[i];
		if (wanted)
			p->status[p->devices[i]->number] = status;
	}
	pthread_mutex_unlock(&lock);
}

static void *later(void *argument)
{
	struct later l = *(struct later *)argument;
	free(argument);
	usleep(20000);
	compiler("build in another thread");
	set_status(l.program, l.status);
	l.notify(l.program, l.data);
	return NULL;
}

EXPORT cl_int clBuildProgram(cl_program p, cl_uint n, const cl_device_id *list, const char *options,
	void(CL_CALLBACK *notify)(cl_program, void *), void *data)
{
	call("clBuildProgram");
	if (p == NULL)
		return CL_INVALID_PROGRAM;
	check(p->magic == PROGRAM, "build of a dead program");
	if ((n == 0) != (list == NULL) || (notify == NULL && data != NULL))
		return CL_INVALID_VALUE;
	pthread_mutex_lock(&lock);
	bool kernels = p->kernels > 0;
	builds += !p->from_binary;
	restores += p->from_binary;
	p->object = false;
	free(p->options);
	p->options = strdup(options == NULL ? "" : options);
	pthread_mutex_unlock(&lock);
	if (kernels)
		return CL_INVALID_OPERATION;
	bool bad = strstr(p->code, "#error") != NULL;
	cl_build_status status = bad ? CL_BUILD_ERROR : CL_BUILD_SUCCESS;
	if (notify != NULL && (fault("async") || fault("crashes-async"))) {
		struct later *l = malloc(sizeof(*l));
		pthread_t thread;
		*l = (struct later){p, notify, data, status};
		set_status(p, CL_BUILD_IN_PROGRESS);
		pthread_create(&thread, NULL, later, l);
		pthread_detach(thread);
		return CL_SUCCESS;
	}
	if (!p->from_binary) {
		compiler("build");
		tell("build", p, n);
	}
	if (!p->from_binary && fault("slow")) {
		set_status(p, CL_BUILD_IN_PROGRESS);
		usleep(100000);
	}
	set_status_of(p, n, list, status);
	if (notify != NULL)
		notify(p, data);
	return bad ? CL_BUILD_PROGRAM_FAILURE : CL_SUCCESS;
}

EXPORT cl_int clCompileProgram(cl_program p, cl_uint n, const cl_device_id *list, const char *options, cl_uint nheaders,
	const cl_program *headers, const char **names, void(CL_CALLBACK *notify)(cl_program, void *), void *data)
{
	call("clCompileProgram");
	if (p == NULL)
		return CL_INVALID_PROGRAM;
	check(p->magic == PROGRAM, "compilation of a dead program");
	if ((n == 0) != (list == NULL) || (notify == NULL && data != NULL) || (nheaders == 0) != (headers == NULL) ||
		(nheaders == 0) != (names == NULL))
		return CL_INVALID_VALUE;
	for (cl_uint i = 0; i < nheaders; i++)
		check(headers[i] != NULL && headers[i]->magic == PROGRAM && names[i] != NULL, "dead header");
	pthread_mutex_lock(&lock);
	bool kernels = p->kernels > 0;
	if (!kernels) {
		builds++;
		free(p->options);
		p->options = strdup(options == NULL ? "" : options);
		p->object = true;
	}
	pthread_mutex_unlock(&lock);
	if (kernels)
		return CL_INVALID_OPERATION;
	compiler("compilation");
	tell("compilation", p, n);
	bool bad = strstr(p->code, "#error") != NULL;
	set_status_of(p, n, list, bad ? CL_BUILD_ERROR : CL_BUILD_SUCCESS);
	if (notify != NULL)
		notify(p, data);
	return bad ? CL_COMPILE_PROGRAM_FAILURE : CL_SUCCESS;
}

EXPORT cl_program clLinkProgram(cl_context c, cl_uint n, const cl_device_id *list, const char *options, cl_uint ninputs,
	const cl_program *inputs, void(CL_CALLBACK *notify)(cl_program, void *), void *data, cl_int *code)
{
	call("clLinkProgram");
	cl_int unused;
	char text[1 << 16] = "";
	if (code == NULL)
		code = &unused;
	*code = c != &context ? CL_INVALID_CONTEXT
		: (n == 0) != (list == NULL) || ninputs == 0 || inputs == NULL || (notify == NULL && data != NULL) ? CL_INVALID_VALUE
																										   : CL_SUCCESS;
	for (cl_uint i = 0; *code == CL_SUCCESS && i < ninputs; i++) {
		if (inputs[i] == NULL) {
			*code = CL_INVALID_PROGRAM;
			break;
		}
		check(inputs[i]->magic == PROGRAM, "link of a dead program");
		pthread_mutex_lock(&lock);
		if (!inputs[i]->object || (!inputs[i]->from_binary && inputs[i]->status[0] != CL_BUILD_SUCCESS))
			*code = CL_INVALID_OPERATION;
		pthread_mutex_unlock(&lock);
		if (strlen(text) + inputs[i]->size + 1 >= sizeof(text))
			*code = CL_OUT_OF_RESOURCES;
		else
			strcat(text, inputs[i]->code);
	}
	if (*code != CL_SUCCESS)
		return NULL;
	compiler("link");
	cl_program p = add(text, strlen(text), false, inputs[0]->n, inputs[0]->devices);
	p->options = strdup(options == NULL ? "" : options);
	pthread_mutex_lock(&lock);
	builds++;
	pthread_mutex_unlock(&lock);
	set_status(p, CL_BUILD_SUCCESS);
	if (notify != NULL)
		notify(p, data);
	return p;
}

/* The nth kernel's name. Those of a program that is made of a binary come in another order:
 * Mesa's rusticl has a random one for them. */
static bool kernel_name(cl_program p, size_t number, char *name)
{
	const char *at = p->code;
	size_t count = 0;
	for (const char *k = at; p->from_binary && (k = strstr(k, "kernel void ")) != NULL; k++)
		count++;
	if (number < count)
		number = count - 1 - number;
	for (size_t i = 0; (at = strstr(at, "kernel void ")) != NULL; i++) {
		at += strlen("kernel void ");
		if (i == number)
			return sscanf(at, "%63[a-z0-9_]", name) == 1;
	}
	return false;
}

EXPORT cl_int clGetProgramInfo(cl_program p, cl_program_info what, size_t room, void *to, size_t *ret)
{
	char names[4096] = "", name[64];
	size_t sizes[DEVICES], n = 0;
	cl_uint number;
	cl_context c = &context;
	check(p != NULL && p->magic == PROGRAM, "query of a dead program");
	while (kernel_name(p, n, name)) {
		strcat(names, n++ == 0 ? "" : ";");
		strcat(names, name);
	}
	switch (what) {
	case CL_PROGRAM_REFERENCE_COUNT:
		pthread_mutex_lock(&lock);
		number = (cl_uint)p->references;
		pthread_mutex_unlock(&lock);
		return give(&number, sizeof(number), room, to, ret);
	case CL_PROGRAM_NUM_DEVICES:
		return give(&p->n, sizeof(p->n), room, to, ret);
	case CL_PROGRAM_DEVICES:
		return give(p->devices, p->n * sizeof(p->devices[0]), room, to, ret);
	case CL_PROGRAM_CONTEXT:
		return give(&c, sizeof(c), room, to, ret);
	case CL_PROGRAM_IL:
		return give(p->code, p->il ? p->size : 0, room, to, ret);
	case CL_PROGRAM_SOURCE:
		return give(p->from_binary ? "" : p->code, p->from_binary ? 1 : p->size + 1, room, to, ret);
	case CL_PROGRAM_NUM_KERNELS:
		return give(&n, sizeof(n), room, to, ret);
	case CL_PROGRAM_KERNEL_NAMES:
		return give(names, strlen(names) + 1, room, to, ret);
	case CL_PROGRAM_BINARY_SIZES:
		call("clGetProgramInfo of binaries");
		pthread_mutex_lock(&lock);
		for (cl_uint i = 0; i < p->n; i++)
			sizes[i] = p->status[p->devices[i]->number] == CL_BUILD_SUCCESS || (p->object && p->from_binary) ? p->size + 3 : 0;
		pthread_mutex_unlock(&lock);
		return give(sizes, p->n * sizeof(sizes[0]), room, to, ret);
	case CL_PROGRAM_BINARIES:
		if (to != NULL && p->n == 1 && ((char **)to)[0] == NULL)
			abort(); /* so ends NVIDIA's */
		pthread_mutex_lock(&lock);
		for (cl_uint i = 0; to != NULL && i < p->n; i++) {
			char *at = ((char **)to)[i];
			if (at != NULL) {
				memcpy(at, p->object ? "obj" : "bin", 3);
				memcpy(at + 3, p->code, p->size);
			}
		}
		pthread_mutex_unlock(&lock);
		if (ret != NULL)
			*ret = p->n * sizeof(char *);
		return CL_SUCCESS;
	}
	return CL_INVALID_VALUE;
}

EXPORT cl_int clGetProgramBuildInfo(cl_program p, cl_device_id d, cl_program_build_info what, size_t room, void *to, size_t *ret)
{
	check(p != NULL && p->magic == PROGRAM, "query of a dead build");
	pthread_mutex_lock(&lock);
	cl_build_status status = p->status[d->number];
	bool object = p->object;
	pthread_mutex_unlock(&lock);
	if (what == CL_PROGRAM_BUILD_STATUS)
		return give(&status, sizeof(status), room, to, ret);
	if (what == CL_PROGRAM_BINARY_TYPE) {
		cl_program_binary_type type = object && (p->from_binary || status == CL_BUILD_SUCCESS)
			? CL_PROGRAM_BINARY_TYPE_COMPILED_OBJECT
			: status == CL_BUILD_SUCCESS ? CL_PROGRAM_BINARY_TYPE_EXECUTABLE
										 : CL_PROGRAM_BINARY_TYPE_NONE;
		return give(&type, sizeof(type), room, to, ret);
	}
	const char *text = what == CL_PROGRAM_BUILD_LOG ? (status == CL_BUILD_ERROR ? "error\n" : "") : p->options == NULL ? "" : p->options;
	return give(text, strlen(text) + 1, room, to, ret);
}

static cl_kernel add_kernel(cl_program p, const char *name)
{
	cl_kernel k = calloc(1, sizeof(*k));
	k->magic = KERNEL;
	k->references = 1;
	k->program = p;
	strcpy(k->name, name);
	clRetainProgram(p);
	pthread_mutex_lock(&lock);
	p->kernels++;
	live_kernels++;
	pthread_mutex_unlock(&lock);
	return k;
}

EXPORT cl_kernel clCreateKernel(cl_program p, const char *name, cl_int *code)
{
	call("clCreateKernel");
	char found[64];
	check(p != NULL && p->magic == PROGRAM, "kernel of a dead program");
	pthread_mutex_lock(&lock);
	cl_build_status status = p->status[p->devices[0]->number];
	pthread_mutex_unlock(&lock);
	for (size_t i = 0; status == CL_BUILD_SUCCESS && !p->object && kernel_name(p, i, found); i++) {
		if (strcmp(found, name) == 0) {
			if (code != NULL)
				*code = CL_SUCCESS;
			return add_kernel(p, name);
		}
	}
	if (code != NULL)
		*code = status == CL_BUILD_SUCCESS ? CL_INVALID_KERNEL_NAME : CL_INVALID_PROGRAM_EXECUTABLE;
	return NULL;
}

EXPORT cl_int clCreateKernelsInProgram(cl_program p, cl_uint room, cl_kernel *to, cl_uint *ret)
{
	call("clCreateKernelsInProgram");
	char name[64];
	cl_uint n = 0;
	for (; kernel_name(p, n, name); n++) {
		if (to != NULL && n < room)
			to[n] = add_kernel(p, name);
	}
	if (ret != NULL)
		*ret = n;
	return CL_SUCCESS;
}

EXPORT cl_int clRetainKernel(cl_kernel k)
{
	check(k->magic == KERNEL, "retain of a dead kernel");
	pthread_mutex_lock(&lock);
	k->references++;
	pthread_mutex_unlock(&lock);
	return CL_SUCCESS;
}

EXPORT cl_int clReleaseKernel(cl_kernel k)
{
	check(k->magic == KERNEL, "release of a dead kernel");
	pthread_mutex_lock(&lock);
	bool last = --k->references == 0;
	if (last) {
		k->program->kernels--;
		live_kernels--;
	}
	pthread_mutex_unlock(&lock);
	if (last) {
		clReleaseProgram(k->program);
		k->magic = 0;
		free(k);
	}
	return CL_SUCCESS;
}

EXPORT cl_int clGetKernelInfo(cl_kernel k, cl_kernel_info what, size_t room, void *to, size_t *ret)
{
	cl_uint n = what == CL_KERNEL_NUM_ARGS ? 2 : 1;
	check(k->magic == KERNEL, "query of a dead kernel");
	switch (what) {
	case CL_KERNEL_FUNCTION_NAME:
		return give(k->name, strlen(k->name) + 1, room, to, ret);
	case CL_KERNEL_PROGRAM:
		return give(&k->program, sizeof(k->program), room, to, ret);
	case CL_KERNEL_ATTRIBUTES: /* lost where the program is from a binary */
		return give(k->program->from_binary ? "" : "attribute", k->program->from_binary ? 1 : 10, room, to, ret);
	}
	return give(&n, sizeof(n), room, to, ret);
}

EXPORT cl_int clGetKernelArgInfo(cl_kernel k, cl_uint index, cl_kernel_arg_info what, size_t room, void *to, size_t *ret)
{
	cl_uint number = what == CL_KERNEL_ARG_ADDRESS_QUALIFIER ? CL_KERNEL_ARG_ADDRESS_GLOBAL : CL_KERNEL_ARG_ACCESS_NONE;
	cl_kernel_arg_type_qualifier none = 0;
	if (index > 1)
		return CL_INVALID_ARG_INDEX;
	if (k->program->from_binary)
		return CL_KERNEL_ARG_INFO_NOT_AVAILABLE;
	switch (what) {
	case CL_KERNEL_ARG_NAME:
		return give(index == 0 ? "first" : "second", index == 0 ? 6 : 7, room, to, ret);
	case CL_KERNEL_ARG_TYPE_NAME:
		return give("int*", 5, room, to, ret);
	case CL_KERNEL_ARG_TYPE_QUALIFIER:
		return give(&none, sizeof(none), room, to, ret);
	}
	return give(&number, sizeof(number), room, to, ret);
}

EXPORT cl_int clEnqueueNDRangeKernel(cl_command_queue q, cl_kernel k, cl_uint n, const size_t *offset, const size_t *global,
	const size_t *local, cl_uint nevents, const cl_event *events, cl_event *event)
{
	(void)q, (void)n, (void)offset, (void)global, (void)local, (void)nevents, (void)events, (void)event;
	check(k->magic == KERNEL, "launch of a dead kernel");
	return CL_SUCCESS;
}

/* Nothing is extended. */
EXPORT void *clGetExtensionFunctionAddressForPlatform(cl_platform_id p, const char *name)
{
	(void)p, (void)name;
	return NULL;
}
