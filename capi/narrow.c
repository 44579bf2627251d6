//go:build linux && cgo

#define _GNU_SOURCE
#include "narrow.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <unistd.h>

/* For each processor that its first thread may run on, the runtime makes room for
 * goroutines and for memory, and wakes threads to use it, while the host waits: with 128
 * of them that takes 1.1 ms and 3 MB more than with one. There is no other way to tell
 * it, as the environment is the host's. Threads inherit what their maker may run on, so
 * those that the first one makes meanwhile are let go one by one. */

enum { most = 8192 }; /* processors, as the runtime's own most */

static union {
	cpu_set_t set; /* for its alignment */
	unsigned char all[most / 8];
} host;
static size_t host_size;
static atomic_bool narrow;

static struct {
	void *(*function)(void *);
	void *argument;
} first;

static void *begin_first(void *unused)
{
	union {
		cpu_set_t set;
		unsigned char all[most / 8];
	} one = {.all = {0}};
	int cpu = sched_getcpu();
	(void)unused;

	if (cpu >= 0 && cpu < most && sched_getaffinity(0, sizeof host, &host.set) == 0) {
		host_size = sizeof host;
		CPU_SET_S((size_t)cpu, sizeof one, &one.set);
		atomic_store(&narrow, sched_setaffinity(0, sizeof one, &one.set) == 0);
	}
	return first.function(first.argument);
}

void *(*ks_narrow(void *(*function)(void *), void **argument))(void *)
{
	if (getenv("GOMAXPROCS") != NULL)
		return function; /* the host's own Go program, or its user, has decided */
	first.function = function;
	first.argument = *argument;
	*argument = NULL;
	return begin_first;
}

static void let_go(void)
{
	/* Where it does not work, the thread runs on one processor. */
	sched_setaffinity(0, host_size, &host.set);
}

int ks_widen(void)
{
	if (!atomic_exchange(&narrow, false))
		return 0;
	let_go();
	return CPU_COUNT_S(host_size, &host.set);
}

struct begin {
	void *(*function)(void *);
	void *argument;
};

static void *begin(void *p)
{
	struct begin b = *(struct begin *)p;

	free(p);
	let_go();
	return b.function(b.argument);
}

int __real_pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*function)(void *), void *argument);
int __wrap_pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*function)(void *), void *argument);

int __wrap_pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*function)(void *), void *argument)
{
	struct begin *b = atomic_load(&narrow) ? malloc(sizeof *b) : NULL;
	int code;

	if (b == NULL)
		return __real_pthread_create(thread, attributes, function, argument);
	*b = (struct begin){function, argument};
	code = __real_pthread_create(thread, attributes, begin, b);
	if (code != 0)
		free(b);
	return code;
}
