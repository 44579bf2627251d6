//go:build linux && cgo

#define _GNU_SOURCE
#include "threads.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>

/* The threads that this library makes, which are nearly all of Go's runtime, count themselves.
 * The linker has its calls of pthread_create come here (-Wl,--wrap, flags_linux.go). */

static atomic_int running;

int ks_threads(void)
{
	return atomic_load(&running);
}

struct start {
	void *(*function)(void *);
	void *argument;
};

static void *run(void *p)
{
	struct start start = *(struct start *)p;
	void *result;

	free(p);
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
