/*
 * crashes.c: builds in all ways with a compiler that recovers from its own crashes.
 * It is for the fake driver, which says what it found; crashes [own]: the
 * application has a handler of its own.
 */
#define CL_TARGET_OPENCL_VERSION 300
#include <CL/cl.h>

#include <semaphore.h>
#include <signal.h>
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

static cl_device_id device;
static cl_context context;
static sem_t called;

static void own(int number) { exit(100 + number); }

static cl_program make(const char *name)
{
	char text[128];
	const char *source = text;
	cl_int code;
	snprintf(text, sizeof(text), "kernel void %s(void) {}", name);
	cl_program p = clCreateProgramWithSource(context, 1, &source, NULL, &code);
	CHECK(p != NULL);
	return p;
}

static void CL_CALLBACK notify(cl_program p, void *data)
{
	(void)p, (void)data;
	sem_post(&called);
}

/* An application may build from within the call back. */
static void CL_CALLBACK notify_and_build(cl_program p, void *data)
{
	cl_program q = make("within");
	CHECK(clBuildProgram(q, 0, NULL, "", NULL, NULL) == CL_SUCCESS);
	clReleaseProgram(q);
	notify(p, data);
}

static void build(const char *name, const char *options, void(CL_CALLBACK *how)(cl_program, void *))
{
	cl_program p = make(name);
	CHECK(clBuildProgram(p, 1, &device, options, how, NULL) == CL_SUCCESS);
	if (how != NULL)
		sem_wait(&called);
	clReleaseProgram(p);
}

int main(int argc, char **argv)
{
	cl_platform_id platform;
	cl_int code;
	struct sigaction handler = {.sa_handler = own};
	setvbuf(stdout, NULL, _IONBF, 0);
	if (argc > 1 && strcmp(argv[1], "own") == 0)
		sigaction(SIGSEGV, &handler, NULL);
	sem_init(&called, 0, 0);
	CHECK(clGetPlatformIDs(1, &platform, NULL) == CL_SUCCESS);
	CHECK(clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, NULL) == CL_SUCCESS);
	context = clCreateContext(NULL, 1, &device, NULL, NULL, &code);

	build("first", "", NULL);
	build("second", NULL, notify);
	build("third", "", notify_and_build);
	/* One while another goes on. */
	cl_program p = make("fourth");
	CHECK(clBuildProgram(p, 1, &device, "", notify, NULL) == CL_SUCCESS);
	build("fifth", "", NULL);
	build("sixth", "", notify);
	sem_wait(&called);
	clReleaseProgram(p);

	cl_program parts[2] = {make("seventh"), make("eighth")};
	CHECK(clCompileProgram(parts[0], 1, &device, "", 0, NULL, NULL, NULL, NULL) == CL_SUCCESS);
	CHECK(clCompileProgram(parts[1], 1, &device, "", 0, NULL, NULL, notify, NULL) == CL_SUCCESS);
	sem_wait(&called);
	for (int i = 0; i < 2; i++) {
		p = clLinkProgram(context, 1, &device, "", 2, parts, i == 0 ? NULL : notify, NULL, &code);
		CHECK(p != NULL && code == CL_SUCCESS);
		if (i > 0)
			sem_wait(&called);
		clReleaseProgram(p);
	}
	clReleaseProgram(parts[0]);
	clReleaseProgram(parts[1]);

	sigaction(SIGSEGV, NULL, &handler);
	fprintf(stderr, "at the end %s handles crashes\n",
		handler.sa_handler == SIG_DFL ? "nobody" : handler.sa_handler == own ? "the application" : "somebody");
	return 0;
}
