/*
 * late.c: an application whose calls between a build or a compilation and its use change
 * what the same call would make later; late NAME. It says how its calls end; the fake
 * driver behind the shim says what it compiles (FAKE_COMPILES).
 */
#define CL_TARGET_OPENCL_VERSION 300
#define CL_USE_DEPRECATED_OPENCL_2_2_APIS
#include <CL/cl.h>

#include <fenv.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CHECK(what) \
	do { \
		if (!(what)) { \
			fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #what); \
			exit(3); \
		} \
	} while (0)

static const char source[] = "kernel void first(int *first, int *second)";
static const char il[] = "\x03\x02\x23\x07 kernel void first(int *first, int *second)";

static cl_context context;
static cl_device_id devices[4];

static cl_program make(void)
{
	const char *text = source;
	cl_program p = clCreateProgramWithSource(context, 1, &text, NULL, NULL);
	CHECK(p != NULL);
	return p;
}

static void set(cl_program p, cl_uint id, cl_int value)
{
	CHECK(clSetProgramSpecializationConstant(p, id, sizeof(value), &value) == CL_SUCCESS);
}

static void compile(cl_program p, cl_uint n)
{
	printf("compile %d\n", clCompileProgram(p, n, n == 0 ? NULL : devices, NULL, 0, NULL, NULL, NULL, NULL));
}

static void build(cl_program p) { printf("build %d\n", clBuildProgram(p, 0, NULL, NULL, NULL, NULL)); }

static void link_of(cl_program p)
{
	cl_int code = 77;
	cl_program linked = clLinkProgram(context, 1, devices, NULL, 1, &p, NULL, NULL, &code);
	printf("link %d\n", code);
	CHECK((linked != NULL) == (code == CL_SUCCESS));
	if (linked != NULL)
		clReleaseProgram(linked);
}

static void ask(cl_program p, cl_uint device)
{
	cl_build_status status = 77;
	CHECK(clGetProgramBuildInfo(p, devices[device], CL_PROGRAM_BUILD_STATUS, sizeof(status), &status, NULL) == CL_SUCCESS);
	printf("status %d\n", status);
}

static void ask_for_binaries(cl_program p)
{
	char binaries[2][128] = {""}, *to[2] = {binaries[0], binaries[1]};
	printf("binaries %d\n", clGetProgramInfo(p, CL_PROGRAM_BINARIES, sizeof(to), to, NULL));
}

/* A constant is set behind the compilation. */
static void constant(void)
{
	cl_program p = clCreateProgramWithIL(context, il, sizeof(il) - 1, NULL);
	set(p, 7, 1);
	compile(p, 0);
	set(p, 7, 2);
	link_of(p);
	clReleaseProgram(p);
}

/* Behind a build, whose binary is asked for. */
static void constant_of_build(void)
{
	cl_program p = clCreateProgramWithIL(context, il, sizeof(il) - 1, NULL);
	set(p, 7, 1);
	build(p);
	set(p, 7, 2);
	ask_for_binaries(p);
	clReleaseProgram(p);
}

/* A constant of a program that has none is an error, and changes nothing. */
static void no_constant(void)
{
	cl_program p = make();
	cl_int value = 1;
	compile(p, 0);
	CHECK(clSetProgramSpecializationConstant(p, 7, sizeof(value), &value) != CL_SUCCESS);
	printf("set\n");
	link_of(p);
	clReleaseProgram(p);
}

static cl_program shared;

static void *set_constants(void *unused)
{
	for (cl_uint i = 0; i < 300; i++)
		set(shared, i, 1);
	return unused;
}

/* Threads set and build at the same time. */
static void constants(void)
{
	pthread_t id;
	shared = clCreateProgramWithIL(context, il, sizeof(il) - 1, NULL);
	CHECK(pthread_create(&id, NULL, set_constants, NULL) == 0);
	for (int i = 0; i < 50; i++)
		CHECK(clBuildProgram(shared, 0, NULL, NULL, NULL, NULL) == CL_SUCCESS);
	pthread_join(id, NULL);
	clReleaseProgram(shared);
}

/* The rounding is another one where the driver has to compile, and stays that. */
static void arithmetic(void)
{
	cl_program p = make(), q = make();
	compile(p, 0);
	build(q);
	CHECK(fesetround(FE_UPWARD) == 0);
	link_of(p);
	ask_for_binaries(q);
	printf("rounding %s\n", fegetround() == FE_UPWARD ? "kept" : "changed");
	clReleaseProgram(p);
	clReleaseProgram(q);
}

/* What was built for two is compiled for one. */
static void compile_a_part(void)
{
	cl_program p = make();
	build(p);
	compile(p, 1);
	ask(p, 0);
	ask(p, 1);
	clReleaseProgram(p);
}

/* What was built for two is built for one in another rounding. */
static void build_a_part(void)
{
	cl_program p = make();
	build(p);
	CHECK(fesetround(FE_UPWARD) == 0);
	printf("build %d\n", clBuildProgram(p, 1, devices, NULL, NULL, NULL));
	ask(p, 0);
	ask(p, 1);
	clReleaseProgram(p);
}

/* What was compiled for two is compiled for one. */
static void compile_again(void)
{
	cl_program p = make();
	compile(p, 0);
	printf("a header changes\n");
	compile(p, 1);
	ask(p, 1);
	clReleaseProgram(p);
}

/* Headers without a number are an error, and change nothing. */
static void nonsense(void)
{
	cl_program p = make(), header = make();
	const char *name = "name";
	cl_int code = 77;
	build(p);
	printf("compile %d\n", clCompileProgram(p, 0, NULL, NULL, 0, &header, NULL, NULL, NULL));
	printf("compile %d\n", clCompileProgram(p, 0, NULL, NULL, 0, NULL, &name, NULL, NULL));
	printf("compile %d\n", clCompileProgram(p, 0, NULL, NULL, 1, &header, NULL, NULL, NULL));
	ask(p, 0);
	cl_kernel k = clCreateKernel(p, "first", &code);
	printf("kernel %d\n", code);
	if (k != NULL)
		clReleaseKernel(k);
	clReleaseProgram(header);
	clReleaseProgram(p);
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		void (*of)(void);
	} parts[] = {{"constant", constant}, {"constant-of-build", constant_of_build}, {"no-constant", no_constant},
		{"constants", constants}, {"arithmetic", arithmetic}, {"compile-a-part", compile_a_part},
		{"build-a-part", build_a_part}, {"compile-again", compile_again}, {"nonsense", nonsense}};
	cl_platform_id platform;
	CHECK(argc == 2);
	CHECK(clGetPlatformIDs(1, &platform, NULL) == CL_SUCCESS);
	CHECK(clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 4, devices, NULL) == CL_SUCCESS);
	context = clCreateContext(NULL, 1, devices, NULL, NULL, NULL);
	for (size_t i = 0; i < sizeof(parts) / sizeof(*parts); i++) {
		if (strcmp(argv[1], parts[i].name) == 0) {
			parts[i].of();
			return 0;
		}
	}
	return 2;
}
