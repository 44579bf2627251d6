/*
 * host.c: applications that are unusual in other ways than in their programs;
 * host NAME. They open the loader themselves.
 */
#define CL_TARGET_OPENCL_VERSION 300
#include <CL/cl.h>

#include <dirent.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <malloc.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define CHECK(what) \
	do { \
		if (!(what)) { \
			fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #what); \
			_exit(3); \
		} \
	} while (0)

static void *loader;
static cl_device_id device;
static cl_context context;

#define CL(name) ((__typeof__(name) *)dlsym(loader, #name))

static void start(void)
{
	cl_platform_id platform;
	cl_int code;
	loader = dlopen("libOpenCL.so.1", RTLD_NOW | RTLD_LOCAL);
	CHECK(loader != NULL);
	CHECK(CL(clGetPlatformIDs)(1, &platform, NULL) == CL_SUCCESS);
	CHECK(CL(clGetDeviceIDs)(platform, CL_DEVICE_TYPE_ALL, 1, &device, NULL) == CL_SUCCESS);
	context = CL(clCreateContext)(NULL, 1, &device, NULL, NULL, &code);
	CHECK(context != NULL);
}

static void build(int number)
{
	char text[128];
	const char *source = text;
	snprintf(text, sizeof(text), "kernel void k%d(global int *a, float b) { a[0] = %d; }", number, number);
	cl_int code;
	cl_program p = CL(clCreateProgramWithSource)(context, 1, &source, NULL, &code);
	CHECK(p != NULL);
	CHECK(CL(clBuildProgram)(p, 1, &device, "-cl-kernel-arg-info", NULL, NULL) == CL_SUCCESS);
	snprintf(text, sizeof(text), "k%d", number);
	cl_kernel k = CL(clCreateKernel)(p, text, &code);
	CHECK(k != NULL);
	CHECK(CL(clGetKernelArgInfo)(k, 1, CL_KERNEL_ARG_NAME, sizeof(text), text, NULL) == CL_SUCCESS && strcmp(text, "b") == 0);
	CL(clReleaseKernel)(k);
	CL(clReleaseProgram)(p);
}

static void stop(void)
{
	CL(clReleaseContext)(context);
	dlclose(loader);
}

static sigjmp_buf back;
static volatile sig_atomic_t caught;

static void on_signal(int number)
{
	caught = number;
	if (number == SIGSEGV || number == SIGFPE)
		siglongjmp(back, 1);
}

static void raise_all(void)
{
	static const int numbers[] = {SIGUSR1, SIGPIPE, SIGURG, SIGPROF, SIGCHLD, SIGSEGV, SIGFPE};
	for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++) {
		caught = 0;
		if (sigsetjmp(back, 1) == 0) {
			if (numbers[i] == SIGSEGV)
				*(volatile int *)(uintptr_t)(i - i) = 1;
			else
				raise(numbers[i]);
		}
		if (caught != numbers[i])
			fprintf(stderr, "signal %d, caught %d\n", numbers[i], (int)caught);
		CHECK(caught == numbers[i]);
	}
}

static void handle_all(void)
{
	struct sigaction a;
	static const int numbers[] = {SIGUSR1, SIGPIPE, SIGURG, SIGPROF, SIGCHLD, SIGSEGV, SIGFPE};
	memset(&a, 0, sizeof(a));
	a.sa_handler = on_signal;
	for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++)
		CHECK(sigaction(numbers[i], &a, NULL) == 0);
}

/* Handlers of its own, set before or after the first build. */
static void signals_before(void)
{
	handle_all();
	start();
	for (int i = 0; i < 3; i++)
		build(i);
	raise_all();
	build(1);
}

static void signals_after(void)
{
	start();
	build(1);
	handle_all();
	raise_all();
	build(1);
}

/* The loader closed, and opened again. */
static void closing(void)
{
	for (int i = 0; i < 3; i++) {
		start();
		build(1);
		stop();
	}
}

static int count_in(const char *folder)
{
	int n = 0;
	DIR *d = opendir(folder);
	while (readdir(d) != NULL)
		n++;
	closedir(d);
	return n;
}

/* Many programs, after some to warm up; prints what was left behind. The library's own
 * threads come with the first of them, or a little later. */
static void loop(int n)
{
	start();
	for (int i = 0; i < 10; i++)
		build(i % 5);
	usleep(100000);
	size_t before = mallinfo2().uordblks;
	int files = count_in("/proc/self/fd"), threads = count_in("/proc/self/task");
	for (int i = 0; i < n; i++)
		build(i % 5);
	/* What is written in the background may be under way on a busy machine. */
	for (int i = 0; i < 3600 && count_in("/proc/self/fd") > files; i++)
		usleep(50000);
	printf("bytes %ld files %d threads %d\n", (long)mallinfo2().uordblks - (long)before, count_in("/proc/self/fd") - files,
		count_in("/proc/self/task") - threads);
}

static void loop_10(void) { loop(10); }
static void loop_50(void) { loop(50); }
static void loop_1000(void) { loop(1000); }

/* A child that builds, of a parent that has or has not; it exits by exit, so
 * that all handlers run. */
static void child(bool after)
{
	start();
	if (after)
		build(1);
	pid_t id = fork();
	if (id == 0) {
		build(1);
		build(2);
		exit(0);
	}
	int how = 77;
	CHECK(waitpid(id, &how, 0) == id);
	CHECK(WIFEXITED(how) && WEXITSTATUS(how) == 0);
	build(2);
}

static void fork_before(void) { child(false); }
static void fork_after(void) { child(true); }

static void *thread(void *number)
{
	for (int i = 0; i < 4; i++)
		build(i % 2 ? *(int *)number : 1);
	return NULL;
}

static void threads(void)
{
	pthread_t ids[8];
	int numbers[8];
	start();
	for (int i = 0; i < 8; i++) {
		numbers[i] = 100 + i;
		CHECK(pthread_create(&ids[i], NULL, thread, &numbers[i]) == 0);
	}
	for (int i = 0; i < 8; i++)
		pthread_join(ids[i], NULL);
}

static atomic_int urgent, elsewhere;
static atomic_bool built;

static void on_urgent(int number)
{
	(void)number;
	atomic_fetch_add(gettid() == getpid() ? &urgent : &elsewhere, 1);
}

/* Says something urgent to a thread again and again, as runtimes do that stop
 * their threads so; each time it has to be heard. */
static void *call_urgently(void *to)
{
	for (int said = 1; !atomic_load(&built); said++) {
		CHECK(pthread_kill(*(pthread_t *)to, SIGURG) == 0);
		for (int i = 0; atomic_load(&urgent) < said; i++) {
			CHECK(i < 100000 + 1800000); /* three minutes */
			if (i >= 100000)
				usleep(100);
		}
	}
	return NULL;
}

/* Needs each of its urgent signals, also while a library comes into the process. */
static void urgently(void)
{
	struct sigaction a;
	pthread_t self = pthread_self(), caller;
	memset(&a, 0, sizeof(a));
	a.sa_handler = on_urgent;
	a.sa_flags = SA_RESTART;
	CHECK(sigaction(SIGURG, &a, NULL) == 0);
	start();
	CHECK(pthread_create(&caller, NULL, call_urgently, &self) == 0);
	for (int i = 0; i < 3; i++)
		build(i);
	atomic_store(&built, true);
	pthread_join(caller, NULL);
	CHECK(atomic_load(&elsewhere) == 0); /* and none that nobody sent */
}

/* Loads a library that builds in its constructor. */
static void loading(void)
{
	char path[4096];
	ssize_t n = readlink("/proc/self/exe", path, sizeof(path) - 16);
	CHECK(n > 0);
	strcpy(path + n, "-plugin.so");
	CHECK(dlopen(path, RTLD_NOW) != NULL);
}

static void *load(void *unused)
{
	loading();
	return unused;
}

/* Builds while another thread is in such a constructor, which has the dynamic linker's lock: whoever
 * waits for that must not have what the constructor's build needs. */
static void loading_beside(void)
{
	const char *source = "kernel void k(global int *a) { a[0] = 3; }";
	pthread_t other;
	cl_int code;
	CHECK(setenv("PLUGIN_PAUSE", "500000", 1) == 0);
	start();
	__typeof__(clBuildProgram) *build_program = CL(clBuildProgram); /* dlsym waits for the linker, too */
	cl_program p = CL(clCreateProgramWithSource)(context, 1, &source, NULL, &code);
	CHECK(p != NULL);
	CHECK(pthread_create(&other, NULL, load, NULL) == 0);
	usleep(100000);
	CHECK(build_program(p, 1, &device, NULL, NULL, NULL) == CL_SUCCESS);
	pthread_join(other, NULL);
}

enum { VICTIMS = 32, VICTIM = 8192 };

/* Closes what it does not know, as daemons do, and has files of its own then. */
static void closing_all(void)
{
	static char text[VICTIM], now[VICTIM + 1];
	int victims[VICTIMS];
	start();
	int first = dup(0);
	for (int i = 0; i < 3; i++)
		build(i);
	usleep(300000); /* for what is opened in the background */
	for (int i = first; i < 256; i++)
		close(i);
	memset(text, 'v', sizeof(text));
	for (int i = 0; i < VICTIMS; i++) {
		char name[32];
		snprintf(name, sizeof(name), "victim-%d", i);
		victims[i] = open(name, O_RDWR | O_CREAT | O_TRUNC, 0600);
		CHECK(victims[i] >= 0 && write(victims[i], text, sizeof(text)) == sizeof(text));
	}
	for (int i = 0; i < 6; i++)
		build(i);
	usleep(500000);
	for (int i = 0; i < VICTIMS; i++)
		CHECK(pread(victims[i], now, sizeof(now), 0) == sizeof(text) && memcmp(now, text, sizeof(text)) == 0);
}

static cl_program kept;
static void (*released)(void);

static void at_exit(void) { released(); }

static void release_kept(void) { CL(clReleaseProgram)(kept); }

/* Gives up a program when all else is going. */
static void exiting(void)
{
	const char *source = "kernel void k(global int *a) { a[0] = 1; }";
	start();
	atexit(at_exit);
	released = release_kept;
	kept = CL(clCreateProgramWithSource)(context, 1, &source, NULL, NULL);
	CHECK(CL(clBuildProgram)(kept, 0, NULL, NULL, NULL, NULL) == CL_SUCCESS);
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		void (*of)(void);
	} parts[] = {{"signals-before", signals_before}, {"signals-after", signals_after}, {"closing", closing}, {"loop-10", loop_10},
		{"loop-50", loop_50}, {"loop-1000", loop_1000},
		{"fork-before", fork_before}, {"fork-after", fork_after}, {"threads", threads}, {"exiting", exiting},
		{"urgently", urgently}, {"loading", loading}, {"loading-beside", loading_beside}, {"closing-all", closing_all}};
	for (size_t i = 0; argc > 1 && i < sizeof(parts) / sizeof(parts[0]); i++) {
		if (strcmp(argv[1], parts[i].name) == 0) {
			parts[i].of();
			return 0;
		}
	}
	return 2;
}
