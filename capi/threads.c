//go:build linux && cgo

#define _GNU_SOURCE
#include "enter.h"

#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

/* The threads of Go's runtime begin here (-Wl,--wrap), not in runtime/cgo, which takes
 * memory of the C library on one thread and gives it back on the new one. For that the C
 * library makes the new thread a heap of its own: five calls of the system and 64 MiB of
 * addresses a thread, while the host waits for its first program. */

/* As runtime/cgo knows them (libcgo.h): the bounds of a stack, and what a thread begins
 * with. */
struct go_stack {
	uintptr_t low, high;
};

struct go_start {
	struct go_stack *g;
	uintptr_t *tls;
	void (*function)(void);
};

/* In runtime/cgo. */
void _cgo_set_stacklo(struct go_stack *g, uintptr_t *bounds);
int _cgo_try_pthread_create(pthread_t *thread, const pthread_attr_t *attributes,
	void *(*function)(void *), void *argument);
void crosscall1(void (*function)(void), void (*set_g)(void *), void *g);

static void (*set_g)(void *);

static pid_t first; /* Go's first thread, which never ends */

/* What Go calls once, on the first thread that it has. */
void __wrap_x_cgo_init(struct go_stack *g, void (*set)(void *), void **tls, void **base)
{
	(void)tls; /* Android's */
	(void)base;
	set_g = set;
	first = (pid_t)syscall(SYS_gettid);
	_cgo_set_stacklo(g, NULL);
}

/* Threads that are made, and have not read what they begin with. */
enum { most_starting = 16 };

static struct {
	struct go_start start;
	bool taken;
} starting[most_starting];

static struct go_start *place(void)
{
	for (int i = 0; i < most_starting; i++)
		if (!__atomic_test_and_set(&starting[i].taken, __ATOMIC_ACQUIRE))
			return &starting[i].start;
	return malloc(sizeof(struct go_start));
}

static void leave(struct go_start *at)
{
	for (int i = 0; i < most_starting; i++)
		if (at == &starting[i].start) {
			__atomic_clear(&starting[i].taken, __ATOMIC_RELEASE);
			return;
		}
	free(at);
}

/* A thread begins on the processors of who made it, and that may be a host's thread which
 * has some of its own. Go's threads run where its first one does. */
static void run_where_go_does(void)
{
	unsigned long own[1024 / sizeof(long)], its[1024 / sizeof(long)]; /* 8192 processors */
	long n = syscall(SYS_sched_getaffinity, 0, sizeof own, own);

	if (n > 0 && syscall(SYS_sched_getaffinity, first, sizeof its, its) == n && memcmp(own, its, (size_t)n) != 0)
		syscall(SYS_sched_setaffinity, 0, n, its);
}

static void *run(void *argument)
{
	struct go_start start = *(struct go_start *)argument;

	leave(argument);
	run_where_go_does();
	ks_go_thread(1);
	crosscall1(start.function, set_g, start.g);
	ks_go_thread(-1);
	return NULL;
}

/* What Go calls for each thread that it makes. Like runtime/cgo's it ends the process
 * where there can be none: Go can not go on without. */
void __wrap_x_cgo_thread_start(struct go_start *start)
{
	struct go_start *at = place();
	pthread_attr_t attributes;
	pthread_t thread;
	sigset_t all, before;
	size_t size;

	if (!at)
		abort();
	*at = *start;
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before); /* until Go has set up the thread */
	pthread_attr_init(&attributes);
	pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
	pthread_attr_getstacksize(&attributes, &size);
	start->g->high = size; /* Go makes bounds of that */
	int code = _cgo_try_pthread_create(&thread, &attributes, run, at);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	pthread_attr_destroy(&attributes);
	if (code != 0) {
		fprintf(stderr, "kernstash: no thread for Go's runtime: %s\n", strerror(code));
		abort();
	}
}
