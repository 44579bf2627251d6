/* observe.c: all that can be seen of programs: equal with and without the layer. */
#include "observe.h"

static cl_device_id device;
static cl_context context;
static cl_command_queue queue;
static int called, destroyed;
static void *called_with;

static void CL_CALLBACK notify(cl_program p, void *data)
{
	cl_build_status status = 77;
	clGetProgramBuildInfo(p, device, CL_PROGRAM_BUILD_STATUS, sizeof(status), &status, NULL);
	printf("  called back, status %d\n", status);
	called++;
	called_with = data;
}

static void CL_CALLBACK on_release(cl_program p, void *data)
{
	(void)p;
	printf("  destroyed %s\n", (const char *)data);
	destroyed++;
}

static void options(void)
{
	static const char *const all[] = {NULL, "", "-cl-kernel-arg-info", "-D MORE=2", "-cl-fast-relaxed-math -D WARN",
		"-cl-std=CL1.2 -w", "  -D   MORE=1  "};
	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
		cl_program p = make(context);
		printf("options %s\n", all[i] == NULL ? "NULL" : all[i]);
		if (i == 0)
			observe_program(p, 1, &device, true);
		printf("  build %d\n", clBuildProgram(p, i % 2, i % 2 ? &device : NULL, all[i], NULL, NULL));
		observe_program(p, 1, &device, i < 2);
		cl_kernel k[8];
		cl_uint n = 0;
		printf("  create %d", clCreateKernelsInProgram(p, 8, k, &n));
		printf(" %u references %u\n", n, references(p));
		for (cl_uint j = 0; j < n; j++) {
			observe_kernel(p, k[j], device);
			clReleaseKernel(k[j]);
		}
		printf("  references %u\n", references(p));
		clReleaseProgram(p);
	}
}

static void run(void)
{
	float data[8] = {1, 2, 3, 4, 5, 6, 7, 8}, by = 3, c = 10;
	size_t global = 8, local = 4;
	cl_program p = make(context);
	clBuildProgram(p, 1, &device, "-D MORE=5", NULL, NULL);
	cl_kernel k = clCreateKernel(p, "scale", NULL);
	cl_mem a = clCreateBuffer(context, CL_MEM_COPY_HOST_PTR, sizeof(data), data, NULL);
	cl_mem b = clCreateBuffer(context, CL_MEM_COPY_HOST_PTR, sizeof(c), &c, NULL);
	printf("run %d", clSetKernelArg(k, 0, sizeof(a), &a));
	printf(" %d", clSetKernelArg(k, 1, sizeof(by), &by));
	printf(" %d", clSetKernelArg(k, 2, sizeof(b), &b));
	printf(" %d", clSetKernelArg(k, 3, 16, NULL));
	printf(" %d", clSetKernelArg(k, 4, 16, NULL));
	for (int i = 0; i < 3; i++)
		printf(" launch %d", clEnqueueNDRangeKernel(queue, k, 1, NULL, &global, &local, 0, NULL, NULL));
	cl_kernel t = clCreateKernel(p, "third", NULL);
	printf(" task %d", clEnqueueTask(queue, t, 0, NULL, NULL));
	printf(" read %d", clEnqueueReadBuffer(queue, a, CL_TRUE, 0, sizeof(data), data, 0, NULL, NULL));
	/* Without hardware nothing is computed. */
	if (getenv("OBSERVE_POCL") != NULL)
		printf(" %g %g", data[0], data[7]);
	printf("\n");
	clReleaseMemObject(a);
	clReleaseMemObject(b);
	clReleaseKernel(t);
	clReleaseKernel(k);
	clReleaseProgram(p);
}

static void rebuild(void)
{
	cl_program p = make(context);
	printf("rebuild %d", clBuildProgram(p, 0, NULL, "-D MORE=1", NULL, NULL));
	cl_kernel k = clCreateKernel(p, "second", NULL);
	printf(" with kernel %d", clBuildProgram(p, 0, NULL, "-D MORE=2", NULL, NULL));
	printf(" %d", clBuildProgram(p, 0, NULL, "-D MORE=1", NULL, NULL));
	printf(" compile %d", clCompileProgram(p, 0, NULL, NULL, 0, NULL, NULL, NULL, NULL));
	printf(" bad %d\n", clBuildProgram(p, 1, NULL, "-D MORE=2", NULL, NULL));
	observe_build(p, device);
	clReleaseKernel(k);
	printf("  freed %d\n", clBuildProgram(p, 0, NULL, "-D MORE=2", NULL, NULL));
	observe_build(p, device);
	printf("  failing %d\n", clBuildProgram(p, 0, NULL, "-D BAD", NULL, NULL));
	observe_build(p, device);
	cl_int code = 77;
	k = clCreateKernel(p, "second", &code);
	printf("  kernel of a failed build %d %d\n", k != NULL, code);
	printf("  good again %d\n", clBuildProgram(p, 0, NULL, "-D MORE=1", NULL, NULL));
	observe_program(p, 1, &device, false);
	printf("  no such kernel %d", clCreateKernel(p, "nothing", &code) != NULL);
	printf(" %d", code);
	printf(" %d", clCreateKernel(p, NULL, &code) != NULL);
	printf(" %d\n", code);
	clReleaseProgram(p);
}

static void callbacks(void)
{
	int token;
	static const char *const all[] = {"-D MORE=1", "-D BAD", "-no-such-option"};
	for (int i = 0; i < 3; i++) {
		cl_program p = make(context);
		called = 0;
		called_with = NULL;
		cl_int code = clBuildProgram(p, 1, &device, all[i], notify, &token);
		printf("callback %s %d called %d with %d\n", all[i], code, called, called_with == &token);
		observe_build(p, device);
		called = 0;
		code = clBuildProgram(p, 1, &device, all[i], notify, NULL);
		printf("  and again %d called %d\n", code, called);
		clReleaseProgram(p);
	}
}

static void wrong(void)
{
	cl_program p = make(context), other = make(context);
	cl_device_id twice[2] = {device, device};
	int token;
	cl_int code = 77;
	for (int round = 0; round < 2; round++) {
		printf("wrong calls, round %d:", round);
		printf(" %d", clBuildProgram(NULL, 0, NULL, NULL, NULL, NULL));
		printf(" %d", clBuildProgram(p, 1, NULL, NULL, NULL, NULL));
		printf(" %d", clBuildProgram(p, 0, &device, NULL, NULL, NULL));
		printf(" %d", clBuildProgram(p, 0, NULL, NULL, NULL, &token));
		printf(" %d", clBuildProgram(p, 2, twice, "-no-such-option", NULL, NULL));
		printf(" %d", clCreateKernel(other, "second", &code) != NULL);
		printf(" %d", code);
		printf(" %d", clCreateKernel(NULL, "second", &code) != NULL);
		printf(" %d", code);
		printf(" %d", clGetProgramInfo(NULL, CL_PROGRAM_SOURCE, 0, NULL, NULL));
		printf(" %d", clGetProgramBuildInfo(p, NULL, CL_PROGRAM_BUILD_STATUS, 0, NULL, NULL));
		printf(" %d", clGetKernelInfo(NULL, CL_KERNEL_PROGRAM, 0, NULL, NULL));
		printf(" %d", clCreateKernelsInProgram(other, 0, NULL, NULL));
		printf(" %d", clRetainProgram(NULL));
		printf(" %d", clReleaseProgram(NULL));
		printf(" %d", clReleaseKernel(NULL));
		printf(" %d", clCompileProgram(NULL, 0, NULL, NULL, 0, NULL, NULL, NULL, NULL));
		printf(" %d", clLinkProgram(context, 0, NULL, NULL, 0, NULL, NULL, NULL, &code) != NULL);
		printf(" %d", code);
		printf(" %d", clLinkProgram(context, 0, NULL, NULL, 1, &p, NULL, NULL, &code) != NULL);
		printf(" %d", code);
		if (getenv("OBSERVE_POCL") == NULL) /* which aborts */
			printf(" %d", clSetProgramSpecializationConstant(p, 1, 4, &token));
		printf(" %d", clCreateProgramWithSource(context, 0, NULL, NULL, &code) != NULL);
		printf(" %d", code);
		printf(" %d", clCreateProgramWithSource(NULL, 1, (const char *[]){""}, NULL, &code) != NULL);
		printf(" %d", code);
		printf(" %d", clCreateProgramWithIL(context, "nonsense", 8, &code) != NULL);
		printf(" %d", code);
		printf(" %d", clCreateProgramWithIL(context, NULL, 100, &code) != NULL);
		printf(" %d\n", code);
		if (round == 0)
			printf("build %d\n", clBuildProgram(p, 0, NULL, "", NULL, NULL));
		cl_kernel k[2] = {NULL, NULL};
		cl_uint n = 77;
		if (round == 1) {
			printf("too little room %d", clCreateKernelsInProgram(p, 2, k, &n));
			printf(" only the number %d", clCreateKernelsInProgram(p, 0, NULL, &n));
			printf(" %u\n", n);
		}
	}
	clReleaseProgram(p);
	clReleaseProgram(other);
}

static void lifetimes(void)
{
	cl_program p = make(context), parent = NULL;
	printf("release callback %d\n", clSetProgramReleaseCallback(p, on_release, "first"));
	clBuildProgram(p, 0, NULL, NULL, NULL, NULL);
	printf("  references %u", references(p));
	cl_uint of_context = 0;
	clGetContextInfo(context, CL_CONTEXT_REFERENCE_COUNT, sizeof(of_context), &of_context, NULL);
	printf(" of the context %u", of_context);
	cl_kernel k = clCreateKernel(p, "second", NULL), l = clCreateKernel(p, "third", NULL);
	printf(" %u", references(p));
	clRetainProgram(p);
	printf(" %u", references(p));
	clReleaseProgram(p);
	clRetainKernel(k);
	printf(" %u", references(p));
	clReleaseKernel(k);
	printf(" %u\n", references(p));
	cl_int code = 77;
	cl_kernel m = clCloneKernel(k, &code);
	printf("  clone %d %d references %u\n", m != NULL, code, references(p));
	if (m != NULL) {
		observe_kernel(p, m, device);
		clReleaseKernel(m);
	}
	clReleaseProgram(p);
	/* The kernels keep it. */
	clGetKernelInfo(l, CL_KERNEL_PROGRAM, sizeof(parent), &parent, NULL);
	printf("  kept %d references %u\n", parent == p, references(parent));
	observe_build(parent, device);
	clReleaseKernel(l);
	printf("  destroyed %d references %u\n", destroyed, references(parent));
	m = clCreateKernel(parent, "scale", &code);
	printf("  another %d %d\n", m != NULL, code);
	clReleaseKernel(k);
	printf("  destroyed %d\n", destroyed);
	clReleaseKernel(m);
	printf("  destroyed %d\n", destroyed);
	p = make(context);
	clSetProgramReleaseCallback(p, on_release, "second");
	clBuildProgram(p, 0, NULL, NULL, NULL, NULL);
	clReleaseProgram(p);
	printf("  destroyed %d\n", destroyed);
	cl_uint n = 0;
	clGetContextInfo(context, CL_CONTEXT_REFERENCE_COUNT, sizeof(n), &n, NULL);
	printf("  context references %u\n", n);
}

static void separately(void)
{
	static const char *const header = "#define FROM_HEADER 7\n", *const user =
		"#include \"h.h\"\nint helper(int);\nkernel void linked(global int *a) { a[0] = helper(FROM_HEADER); }\n",
		*const library = "int helper(int x) { return x + 1; }\n", *const broken = "int helper(int x) { return y; }\n";
	cl_int code = 77;
	cl_program h = clCreateProgramWithSource(context, 1, (const char **)&header, NULL, NULL);
	cl_program a = clCreateProgramWithSource(context, 1, (const char **)&user, NULL, NULL);
	cl_program b = clCreateProgramWithSource(context, 1, (const char **)&library, NULL, NULL);
	cl_program c = clCreateProgramWithSource(context, 1, (const char **)&broken, NULL, NULL);
	cl_program e = clCreateProgramWithSource(context, 1, (const char **)&library, NULL, NULL);
	const char *name = "h.h";
	printf("compile %d", clCompileProgram(a, 0, NULL, "-D X", 1, &h, &name, NULL, NULL));
	printf(" %d", clCompileProgram(b, 1, &device, NULL, 0, NULL, NULL, NULL, NULL));
	printf(" %d", clCompileProgram(c, 0, NULL, "", 0, NULL, NULL, NULL, NULL));
	called = 0;
	printf(" %d called %d\n", clCompileProgram(e, 1, &device, NULL, 0, NULL, NULL, notify, NULL), called);
	clReleaseProgram(e);
	observe_build(a, device);
	observe_build(b, device);
	observe_build(c, device);
	cl_program parts[2] = {a, b};
	cl_program p = clLinkProgram(context, 0, NULL, NULL, 2, parts, NULL, NULL, &code);
	printf("link %d %d references %u %u\n", p != NULL, code, references(a), references(b));
	if (p != NULL) {
		observe_program(p, 1, &device, false);
		cl_kernel k = clCreateKernel(p, "linked", &code);
		printf("  kernel %d %d\n", k != NULL, code);
		if (k != NULL) {
			observe_kernel(p, k, device);
			clReleaseKernel(k);
		}
		clReleaseProgram(p);
	}
	observe_program(a, 1, &device, true);
	cl_kernel k = clCreateKernel(a, "linked", &code);
	printf("  kernel of a compiled program %d %d\n", k != NULL, code);
	p = clLinkProgram(context, 1, &device, NULL, 1, &a, NULL, NULL, &code);
	printf("link with a part missing %d %d\n", p != NULL, code);
	if (p != NULL) {
		observe_build(p, device);
		clReleaseProgram(p);
	}
	p = clLinkProgram(context, 1, &device, "-no-such-option", 2, parts, NULL, NULL, &code);
	printf("link with a bad option %d %d\n", p != NULL, code);
	/* Built programs are no parts. */
	cl_program whole = make(context);
	clBuildProgram(whole, 0, NULL, NULL, NULL, NULL);
	p = clLinkProgram(context, 1, &device, NULL, 1, &whole, NULL, NULL, &code);
	printf("link of a whole program %d %d\n", p != NULL, code);
	if (p != NULL)
		clReleaseProgram(p);
	/* One that was built may be compiled, and built again. */
	printf("  compiled after %d", clCompileProgram(whole, 0, NULL, NULL, 0, NULL, NULL, NULL, NULL));
	observe_build(whole, device);
	printf("  built after %d\n", clBuildProgram(whole, 0, NULL, "-D MORE=2", NULL, NULL));
	observe_program(whole, 1, &device, false);
	clReleaseProgram(whole);
	clReleaseProgram(a);
	clReleaseProgram(b);
	clReleaseProgram(c);
	clReleaseProgram(h);
}

static void from_binary(void)
{
	cl_program p = make(context);
	clBuildProgram(p, 0, NULL, "-D MORE=3", NULL, NULL);
	size_t size = 0;
	cl_int code = 77, status = 77;
	clGetProgramInfo(p, CL_PROGRAM_BINARY_SIZES, sizeof(size), &size, NULL);
	unsigned char *binary = malloc(size);
	clGetProgramInfo(p, CL_PROGRAM_BINARIES, sizeof(binary), &binary, NULL);
	cl_program q = clCreateProgramWithBinary(context, 1, &device, &size, (const unsigned char **)&binary, &status, &code);
	printf("from binary %d %d %d", q != NULL, status, code);
	printf(" %d\n", clBuildProgram(q, 0, NULL, NULL, NULL, NULL));
	observe_program(q, 1, &device, false);
	cl_kernel k = clCreateKernel(q, "second", &code);
	printf("  kernel %d %d\n", k != NULL, code);
	clReleaseKernel(k);
	clReleaseProgram(q);
	clReleaseProgram(p);
	free(binary);
	q = clCreateProgramWithBuiltInKernels(context, 1, &device, "no_such_kernel", &code);
	printf("built-in %d %d\n", q != NULL, code);
}

/* Programs for two devices. */
static void pair(cl_device_id *parts)
{
	cl_int code;
	cl_context c = clCreateContext(NULL, 2, parts, NULL, NULL, &code);
	cl_program p = make(c);
	printf("  build %d\n", clBuildProgram(p, 2, parts, "-D MORE=4", NULL, NULL));
	observe_program(p, 2, parts, true);
	cl_kernel k = clCreateKernel(p, "scale", &code);
	printf("  kernel %d %d references %u\n", k != NULL, code, references(p));
	observe_kernel(p, k, parts[0]);
	observe_kernel(p, k, parts[1]);
	clReleaseKernel(k);
	clReleaseProgram(p);
	p = make(c);
	printf("  build for one %d\n", clBuildProgram(p, 1, &parts[1], "-D MORE=4", NULL, NULL));
	observe_program(p, 2, parts, true);
	printf("  and for the other %d\n", clBuildProgram(p, 1, &parts[0], "-D MORE=6", NULL, NULL));
	observe_program(p, 2, parts, false);
	k = clCreateKernel(p, "scale", &code);
	printf("  kernel %d %d\n", k != NULL, code);
	if (k != NULL)
		clReleaseKernel(k);
	clReleaseProgram(p);
	printf("  the whole device is another %d\n", (p = make(c), clBuildProgram(p, 1, &device, NULL, NULL, NULL)));
	clReleaseProgram(p);
	clReleaseContext(c);
}

static void several(void)
{
	cl_device_id parts[2] = {NULL, NULL};
	const cl_device_partition_property how[] = {CL_DEVICE_PARTITION_BY_COUNTS, 1, 1, CL_DEVICE_PARTITION_BY_COUNTS_LIST_END, 0};
	cl_uint n = 0;
	cl_int code = clCreateSubDevices(device, how, 2, parts, &n);
	printf("sub-devices %d %u\n", code, n);
	if (code != CL_SUCCESS)
		return;
	pair(parts);
	clReleaseDevice(parts[0]);
	clReleaseDevice(parts[1]);
}

static void two(void)
{
	cl_platform_id platform;
	cl_device_id devices[2];
	cl_uint n = 0;
	clGetDeviceInfo(device, CL_DEVICE_PLATFORM, sizeof(platform), &platform, NULL);
	if (clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 2, devices, &n) == CL_SUCCESS && n > 1)
		pair(devices);
}

typedef cl_program(CL_API_CALL *with_il_fn)(cl_context, const void *, size_t, cl_int *);

/* A SPIR-V module with constants, where the driver takes some. */
static void modules(void)
{
	char il[65536];
	FILE *f = getenv("OBSERVE_SPIRV") == NULL ? NULL : fopen(getenv("OBSERVE_SPIRV"), "r");
	if (f == NULL)
		return;
	size_t size = fread(il, 1, sizeof(il), f);
	fclose(f);
	cl_platform_id platform;
	clGetDeviceInfo(device, CL_DEVICE_PLATFORM, sizeof(platform), &platform, NULL);
	with_il_fn khr = (with_il_fn)clGetExtensionFunctionAddressForPlatform(platform, "clCreateProgramWithILKHR");
	printf("by name %d, and nothing %d\n", khr != NULL,
		clGetExtensionFunctionAddressForPlatform(platform, "clNoSuchFunctionKHR") != NULL);
	for (int i = 0; i < 4; i++) {
		cl_int code = 77;
		cl_program p = i % 2 && khr != NULL ? khr(context, il, size, &code) : clCreateProgramWithIL(context, il, size, &code);
		printf("module %d %d\n", p != NULL, code);
		if (p == NULL)
			return;
		const cl_uint value = 5 + (cl_uint)i / 2;
		printf("  constants %d", clSetProgramSpecializationConstant(p, 7, sizeof(value), &value));
		printf(" %d", clSetProgramSpecializationConstant(p, 7, 2, &value));
		printf(" %d", clSetProgramSpecializationConstant(p, 4711, sizeof(value), &value));
		printf(" %d\n", clSetProgramSpecializationConstant(p, 7, sizeof(value), NULL));
		printf("  build %d\n", clBuildProgram(p, 0, NULL, i == 3 ? "" : NULL, NULL, NULL));
		observe_program(p, 1, &device, true);
		cl_kernel k[4];
		cl_uint n = 0;
		clCreateKernelsInProgram(p, 4, k, &n);
		for (cl_uint j = 0; j < n; j++) {
			observe_kernel(p, k[j], device);
			clReleaseKernel(k[j]);
		}
		const cl_uint other = 9;
		printf("  another value %d", clSetProgramSpecializationConstant(p, 7, sizeof(other), &other));
		printf(" %d\n", clBuildProgram(p, 0, NULL, NULL, NULL, NULL));
		observe_program(p, 1, &device, true);
		clReleaseProgram(p);
	}
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		void (*of)(void);
	} parts[] = {{"options", options}, {"run", run}, {"rebuild", rebuild}, {"callbacks", callbacks}, {"wrong", wrong},
		{"lifetimes", lifetimes}, {"separately", separately}, {"binary", from_binary}, {"several", several}, {"modules", modules}, {"two", two}};
	cl_platform_id platform;
	cl_int code;
	setvbuf(stdout, NULL, _IONBF, 0);
	if (clGetPlatformIDs(1, &platform, NULL) != CL_SUCCESS ||
		clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, NULL) != CL_SUCCESS)
		return printf("no device\n"), 1;
	context = clCreateContext(NULL, 1, &device, NULL, NULL, &code);
	queue = clCreateCommandQueue(context, device, 0, &code);
	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
		if (argc > 1 && strstr(argv[1], parts[i].name) == NULL)
			continue;
		printf("== %s\n", parts[i].name);
		parts[i].of();
	}
	clReleaseCommandQueue(queue);
	clReleaseContext(context);
	return 0;
}
