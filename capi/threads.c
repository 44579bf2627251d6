//go:build linux && cgo

#define _GNU_SOURCE
#include "start.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The threads that this library makes, which are nearly all of Go's runtime, count themselves.
 * The linker has its calls of pthread_create come here (-Wl,--wrap, main.go). */

static atomic_int running;

int ks_threads(void)
{
	return atomic_load(&running);
}

struct start {
	void *(*function)(void *);
	void *argument;
};

/* A thread begins on the processors of the one that makes it, which may be a thread of the host's
 * that has some of its own. Ours run where the process's first thread does. */
static void run_everywhere(void)
{
	unsigned long first[1024 / sizeof(long)] = {0}, own[1024 / sizeof(long)] = {0}; /* 8192 processors */

	if (sched_getaffinity(getpid(), sizeof first, (cpu_set_t *)first) == 0 &&
		sched_getaffinity(0, sizeof own, (cpu_set_t *)own) == 0 && memcmp(first, own, sizeof own) != 0)
		sched_setaffinity(0, sizeof first, (cpu_set_t *)first);
}

static void *run(void *p)
{
	struct start start = *(struct start *)p;
	void *result;

	free(p);
	run_everywhere();
	atomic_fetch_add(&running, 1);
	result = start.function(start.argument);
	atomic_fetch_sub(&running, 1);
	return result;
}

int __real_pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*function)(void *), void *argument);

int __wrap_pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*function)(void *), void *argument)
{
	struct start *start = malloc(sizeof *start);
	int code;

	if (start == NULL)
		return EAGAIN;
	*start = (struct start){function, argument};
	code = __real_pthread_create(thread, attributes, run, start);
	if (code != 0)
		free(start);
	return code;
}

int __real_sigaction(int sig, const struct sigaction *act, struct sigaction *old);

/* Go takes SIGURG to stop its own goroutines with, and hands no other's on. A host may
 * need each of its own: one that is written in Go would have a thread that cannot be stopped
 * any more, from the one signal that is lost while this library comes into its process. So Go
 * does not get it here: it stops its goroutines where they call something (asyncpreemptoff, see
 * build), and never sends it. */
int __wrap_sigaction(int sig, const struct sigaction *act, struct sigaction *old)
{
	return __real_sigaction(sig, sig == SIGURG ? NULL : act, old);
}
