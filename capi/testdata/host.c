/* host.c: what a host may be and do while it uses the library. */
#define _GNU_SOURCE
#include "parts.h"

#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

static int quick(void *user, kernstash_lookup *l)
{
	(void)user;
	return kernstash_lookup_set(l, "quick", 5);
}

static void wait_for(pid_t child)
{
	int status;
	CHECK(child > 0);
	CHECK(waitpid(child, &status, 0) == child);
	CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

/* In a child everything is a miss, at once. */
static void in_child(kernstash_cache *cache, kernstash_device *device, kernstash_lookup *had)
{
	kernstash_statistics s = {.size = sizeof s};
	kernstash_cache *other;
	kernstash_device *d;
	kernstash_lookup *l;

	alarm(240); /* it must not hang */
	check_binary(had, "found");
	kernstash_lookup_close(had);
	IS(KERNSTASH_UNAVAILABLE, kernstash_open(NULL, &other));
	CHECK(other == NULL && strstr(kernstash_detail(), "fork") != NULL);
	IS(KERNSTASH_UNAVAILABLE, kernstash_stats(cache, &s));
	IS(KERNSTASH_UNAVAILABLE, kernstash_device_open(cache, &(kernstash_identity){
		.size = sizeof(kernstash_identity), .api = "a", .name = "n", .driver = "d"}, &d));
	l = open_lookup(device, "program");
	CHECK(!kernstash_lookup_found(l));
	OK(kernstash_lookup_get_or_build(l, quick, NULL));
	check_binary(l, "quick");
	IS(KERNSTASH_UNAVAILABLE, kernstash_lookup_populate(l));
	IS(KERNSTASH_UNAVAILABLE, kernstash_flush(cache, 1000));
	kernstash_lookup_close(l);
	kernstash_device_close(device);
	IS(KERNSTASH_UNAVAILABLE, kernstash_close(cache));
	_exit(0);
}

static int forks_within(void *user, kernstash_lookup *l)
{
	pid_t child = fork();
	(void)user;
	if (child != 0)
		wait_for(child);
	else
		alarm(240);
	OK(kernstash_lookup_set(l, "within", 6));
	return 0;
}

/* A child that was forked before anything was asked for has a cache of its own. */
static void early(pid_t child, const char *name)
{
	char directory[512];
	if (child != 0) {
		wait_for(child);
		return;
	}
	alarm(240);
	snprintf(directory, sizeof directory, "%s/%s", getenv("TEST_DIR"), name);
	CHECK(setenv("KERNSTASH_DIR", directory, 1) == 0);
	populated();
	_exit(0);
}

void forks(void)
{
	early(fork(), "forked");
	kernstash_cache *cache = open_cache();
	kernstash_device *device = open_device(cache);
	kernstash_lookup *l = open_lookup(device, "program"), *had;
	pid_t child, self = getpid();

	populate(l, "found");
	kernstash_lookup_close(l);
	had = open_lookup(device, "program");
	CHECK(kernstash_lookup_found(had));

	child = fork();
	if (child == 0)
		in_child(cache, device, had);
	wait_for(child);
	child = (pid_t)syscall(SYS_clone, SIGCHLD, NULL, NULL, NULL, NULL); /* no pthread_atfork */
	if (child == 0)
		in_child(cache, device, had);
	wait_for(child);

	/* In a build: the child builds for itself. */
	l = open_lookup(device, "forks");
	OK(kernstash_lookup_get_or_build(l, forks_within, NULL));
	check_binary(l, "within");
	kernstash_lookup_close(l);
	if (getpid() != self)
		_exit(0);

	/* The parent is as it was. */
	l = open_lookup(device, "program");
	CHECK(kernstash_lookup_found(l));
	kernstash_lookup_close(l);
	check_binary(had, "found");
	kernstash_lookup_close(had);
	kernstash_device_close(device);
	OK(kernstash_close(cache));
}

/* A program with rights beyond its user's gets no cache. */
void secure(void)
{
	kernstash_cache *cache;
	IS(KERNSTASH_UNAVAILABLE, kernstash_open(NULL, &cache));
	CHECK(cache == NULL && strstr(kernstash_detail(), "rights") != NULL);
}

/* A crash in a driver ends the process as it would have. */
static int crashes(void *user, kernstash_lookup *l)
{
	(void)l;
	*(volatile int *)user = 1;
	return 0;
}

void crash(void)
{
	kernstash_cache *cache = open_cache();
	kernstash_device *device = open_device(cache);
	kernstash_lookup *l = open_lookup(device, "crashes");
	kernstash_lookup_get_or_build(l, crashes, NULL);
}

/* A reader that has gone ends the process as it would have. */
void pipes(void)
{
	kernstash_cache *cache = open_cache();
	kernstash_device *device = open_device(cache);
	kernstash_lookup *l = open_lookup(device, "program");
	int ends[2];

	kernstash_lookup_found(l);
	CHECK(pipe(ends) == 0 && close(ends[0]) == 0);
	CHECK(write(ends[1], "x", 1) < 0);
}

/* The main thread ends alone; the process ends with its last thread. */
static void *outlives(void *device)
{
	struct timespec t = {0, 100000000};
	nanosleep(&t, NULL);
	kernstash_lookup *l = open_lookup(device, "program");
	CHECK(kernstash_lookup_found(l));
	kernstash_lookup_close(l);
	printf("last\n");
	return NULL;
}

void main_ends(void)
{
	kernstash_device *device = open_device(open_cache());
	kernstash_lookup *l = open_lookup(device, "program");
	pthread_t t;

	populate(l, "x");
	kernstash_lookup_close(l);
	CHECK(pthread_create(&t, NULL, outlives, device) == 0);
	pthread_exit(NULL);
}

/* What the library writes for people meets a limit, or a reader that has gone: that is no
 * reason to end the process. A signal that the host holds back stays for it. */
void writes(void)
{
	struct rlimit none = {0, 0};
	kernstash_cache *cache = open_cache();
	kernstash_device *device = open_device(cache);
	kernstash_lookup *l;
	sigset_t pipe_alone, pending;
	int ends[2];

	CHECK(pipe(ends) == 0 && close(ends[0]) == 0 && dup2(ends[1], 2) == 2);
	CHECK(setrlimit(RLIMIT_FSIZE, &none) == 0);
	for (int i = 0; i < 3; i++) {
		l = open_lookup(device, "program");
		OK(kernstash_lookup_int(l, i));
		if (!kernstash_lookup_found(l)) {
			OK(kernstash_lookup_set(l, "x", 1));
			kernstash_lookup_populate(l);
		}
		kernstash_lookup_close(l);
		l = open_lookup(device, "built");
		OK(kernstash_lookup_int(l, i));
		OK(kernstash_lookup_get_or_build(l, quick, NULL));
		kernstash_lookup_close(l);
	}
	sigemptyset(&pipe_alone);
	sigaddset(&pipe_alone, SIGPIPE);
	CHECK(pthread_sigmask(SIG_BLOCK, &pipe_alone, NULL) == 0);
	CHECK(write(ends[1], "x", 1) < 0);
	counter(cache, "disk.hits");
	CHECK(sigpending(&pending) == 0 && sigismember(&pending, SIGPIPE) == 1);
	kernstash_device_close(device);
	OK(kernstash_close(cache));
}

/* Handlers of the host's, set before and after the library came, without a stack of
 * their own: they never run on the small stacks of Go code. */
static atomic_long on_ours, elsewhere;
static __thread uintptr_t low, high;

static void on_signal(int n)
{
	char here;
	uintptr_t at = (uintptr_t)&here;
	stack_t s;
	(void)n;
	/* Stacks of goroutines lie elsewhere. */
	if ((at > low && at < high) || (sigaltstack(NULL, &s) == 0 && (s.ss_flags & SS_ONSTACK) != 0))
		atomic_fetch_add(&on_ours, 1);
	else
		atomic_fetch_add(&elsewhere, 1);
}

static void know_stack(void)
{
	pthread_attr_t a;
	void *at;
	size_t size;
	CHECK(pthread_getattr_np(pthread_self(), &a) == 0);
	CHECK(pthread_attr_getstack(&a, &at, &size) == 0);
	low = (uintptr_t)at;
	high = low + size;
	pthread_attr_destroy(&a);
}

static atomic_bool ready, over;

static void *works(void *device)
{
	know_stack();
	atomic_store(&ready, true);
	for (int i = 0; !atomic_load(&over); i++) {
		kernstash_lookup *l = open_lookup(device, "program");
		OK(kernstash_lookup_int(l, i % 200));
		if (!kernstash_lookup_found(l)) {
			OK(kernstash_lookup_set(l, "x", 1));
			OK(kernstash_lookup_populate(l));
		}
		kernstash_lookup_close(l);
		l = open_lookup(device, "built");
		OK(kernstash_lookup_int(l, i));
		OK(kernstash_lookup_get_or_build(l, quick, NULL));
		kernstash_lookup_close(l);
	}
	return NULL;
}

__attribute__((constructor)) static void before_anything(void)
{
	signal(SIGUSR1, on_signal);
}

static void nap(long ms)
{
	struct timespec t = {0, ms * 1000000};
	while (nanosleep(&t, &t) != 0)
		;
}

void signals(void)
{
	struct itimerval every = {{0, 500}, {0, 500}};
	struct sigaction now;
	kernstash_cache *cache;
	kernstash_device *device;
	sigset_t mask;
	pthread_t t;

	know_stack();
	/* The library was loaded, and the mask is as it was. */
	CHECK(pthread_sigmask(SIG_SETMASK, NULL, &mask) == 0);
	for (int i = 1; i < 32; i++)
		CHECK(sigismember(&mask, i) == 0);
	cache = open_cache();
	device = open_device(cache);
	CHECK(signal(SIGALRM, on_signal) != SIG_ERR);
	CHECK(signal(SIGPROF, on_signal) != SIG_ERR);
	nap(5);
	counter(cache, "disk.hits"); /* sees the new handler */
	CHECK(pthread_create(&t, NULL, works, device) == 0);
	while (!atomic_load(&ready)) /* else its handlers know no stack of its own */
		nap(1);
	CHECK(setitimer(ITIMER_REAL, &every, NULL) == 0);
	CHECK(setitimer(ITIMER_PROF, &every, NULL) == 0);
	for (int i = 0; i < 200; i++) {
		nap(2);
		kill(getpid(), SIGUSR1);
		kernstash_lookup *l = open_lookup(device, "program");
		OK(kernstash_lookup_int(l, i));
		kernstash_lookup_found(l);
		kernstash_lookup_close(l);
	}
	every = (struct itimerval){{0, 0}, {0, 0}};
	setitimer(ITIMER_REAL, &every, NULL);
	setitimer(ITIMER_PROF, &every, NULL);
	atomic_store(&over, true);
	CHECK(pthread_join(t, NULL) == 0);
	printf("signals on stacks of the host's, or of signals: %ld, elsewhere: %ld\n", atomic_load(&on_ours), atomic_load(&elsewhere));
	CHECK(atomic_load(&on_ours) > 100 && atomic_load(&elsewhere) == 0);
	/* The host's handlers are still the host's. */
	CHECK(sigaction(SIGALRM, NULL, &now) == 0 && now.sa_handler == on_signal);
	CHECK(pthread_sigmask(SIG_SETMASK, NULL, &mask) == 0);
	CHECK(sigismember(&mask, SIGALRM) == 0);
	kernstash_device_close(device);
	OK(kernstash_close(cache));
}

/* The host catches its own faults, by a handler of before or of after. */
static sigjmp_buf back;
static volatile int *volatile nowhere;

static void on_fault(int n)
{
	siglongjmp(back, n);
}

__attribute__((constructor(200))) static void catch_early(void)
{
	if (getenv("TEST_EARLY") != NULL)
		signal(SIGSEGV, on_fault);
}

static void fault(void)
{
	if (sigsetjmp(back, 1) == 0) {
		*nowhere = 1;
		abort();
	}
}

void handlers(void)
{
	kernstash_cache *cache = open_cache();
	kernstash_device *device = open_device(cache);
	kernstash_lookup *l = open_lookup(device, "program");

	kernstash_lookup_found(l);
	if (getenv("TEST_EARLY") == NULL)
		CHECK(signal(SIGSEGV, on_fault) != SIG_ERR);
	for (int i = 0; i < 3; i++)
		fault();
	OK(kernstash_lookup_set(l, "x", 1));
	OK(kernstash_lookup_populate(l));
	kernstash_lookup_close(l);
	kernstash_device_close(device);
	OK(kernstash_close(cache));
}

/* Threads with small stacks, and stacks of the host's own making. */
static void *once_through(void *device)
{
	kernstash_lookup *l = open_lookup(device, "program");
	if (!kernstash_lookup_found(l)) {
		OK(kernstash_lookup_set(l, "x", 1));
		OK(kernstash_lookup_populate(l));
	}
	check_binary(l, "x");
	kernstash_lookup_close(l);
	l = open_lookup(device, "built");
	OK(kernstash_lookup_get_or_build(l, quick, NULL));
	check_binary(l, "quick");
	kernstash_lookup_close(l);
	return NULL;
}

void small_stacks(void)
{
	kernstash_cache *cache = open_cache();
	kernstash_device *device = open_device(cache);
	pthread_attr_t a;
	pthread_t t;

	for (int kb = 16; kb <= 256; kb *= 2) {
		size_t size = (size_t)kb << 10;
		if (size < (size_t)sysconf(_SC_THREAD_STACK_MIN))
			size = (size_t)sysconf(_SC_THREAD_STACK_MIN);
		for (int i = 0; i < 3; i++) {
			CHECK(pthread_attr_init(&a) == 0);
			CHECK(pthread_attr_setstacksize(&a, size) == 0);
			CHECK(pthread_create(&t, &a, once_through, device) == 0);
			CHECK(pthread_join(t, NULL) == 0);
			pthread_attr_destroy(&a);
		}
	}
	kernstash_device_close(device);
	OK(kernstash_close(cache));
}

static ucontext_t outside, inside;
static kernstash_device *the_device;

static void on_own_stack(void)
{
	once_through(the_device);
}

static void switch_to(char *stack, size_t size)
{
	CHECK(getcontext(&inside) == 0);
	inside.uc_stack.ss_sp = stack;
	inside.uc_stack.ss_size = size;
	inside.uc_link = &outside;
	makecontext(&inside, on_own_stack, 0);
	CHECK(swapcontext(&outside, &inside) == 0);
}

void own_stacks(void)
{
	kernstash_cache *cache = open_cache();
	char *stack = malloc(256 << 10);

	the_device = open_device(cache);
	once_through(the_device);
	for (int i = 0; i < 3; i++) {
		switch_to(stack, 256 << 10);
		once_through(the_device);
	}
	free(stack);
	kernstash_device_close(the_device);
	OK(kernstash_close(cache));
}

/* The first call of a process, with TEST_LEFT KiB left of the main thread's stack. */
static __attribute__((noinline)) void descend(uintptr_t low, size_t left)
{
	volatile char frame[1024];

	frame[0] = 0;
	if ((uintptr_t)frame - low > left + 2 * sizeof frame) {
		descend(low, left);
		frame[0] = 1; /* no tail call */
		return;
	}
	kernstash_cache *cache = open_cache();
	kernstash_device *device = open_device(cache);
	once_through(device);
	kernstash_device_close(device);
	OK(kernstash_close(cache));
}

void low_stack(void)
{
	pthread_attr_t a;
	void *low;
	size_t size;

	CHECK(pthread_getattr_np(pthread_self(), &a) == 0);
	CHECK(pthread_attr_getstack(&a, &low, &size) == 0);
	pthread_attr_destroy(&a);
	CHECK(size >= 1 << 20 && size <= 64 << 20);
	descend((uintptr_t)low, (size_t)atoi(getenv("TEST_LEFT")) << 10);
}

/* What a call costs, as ratios. */
static double now(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static double best(void (*f)(void *), void *arg)
{
	double least = 1e18;
	for (int round = 0; round < 10; round++) {
		enum { times = 300 };
		double start = now();
		for (int i = 0; i < times; i++)
			f(arg);
		double each = (now() - start) / times;
		if (each < least)
			least = each;
	}
	return least;
}

static void hit(void *device)
{
	kernstash_lookup *l;
	kernstash_lookup_open(device, "hit", &l);
	kernstash_lookup_library(l, "lib", "1");
	kernstash_lookup_int(l, 4);
	kernstash_lookup_string(l, "row major");
	kernstash_lookup_options(l, "-cl-mad-enable -DN=16");
	OK(kernstash_lookup_get_or_build(l, quick, NULL));
	kernstash_lookup_close(l);
}

static void find(void *device)
{
	kernstash_lookup *l;
	kernstash_lookup_open(device, "program", &l);
	kernstash_lookup_library(l, "lib", "1");
	CHECK(kernstash_lookup_found(l));
	kernstash_lookup_close(l);
}

static void c_alone(void *device)
{
	kernstash_lookup *l;
	kernstash_lookup_open(device, "hit", &l);
	kernstash_lookup_library(l, "lib", "1");
	kernstash_lookup_int(l, 4);
	kernstash_lookup_string(l, "row major");
	kernstash_lookup_options(l, "-cl-mad-enable -DN=16");
	kernstash_lookup_close(l);
}

static void call_of_go(void *cache)
{
	int64_t n;
	OK(kernstash_counter(cache, "disk.hits", &n));
}

void costs(void)
{
	kernstash_cache *cache = open_cache();
	kernstash_device *device = open_device(cache);
	kernstash_lookup *l = open_lookup(device, "program");
	static char binary[50000];

	OK(kernstash_lookup_set(l, binary, sizeof binary));
	OK(kernstash_lookup_populate(l));
	kernstash_lookup_close(l);
	hit(device);
	printf("lookup %.0f\nhit %.0f\nfound %.0f\ncounter %.0f\n", best(c_alone, device), best(hit, device),
		best(find, device), best(call_of_go, cache));
	kernstash_device_close(device);
	OK(kernstash_close(cache));
}
