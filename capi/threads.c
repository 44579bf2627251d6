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
int _cgo_try_pthread_create(pthread_t *thread, const pthread_attr_t *attributes,
	void *(*function)(void *), void *argument);
void crosscall1(void (*function)(void), void (*set_g)(void *), void *g);

static void (*set_g)(void *);

/* What Go calls once, on the first thread that it has, which room.c makes. Where its stack
 * ends the C library would say only with a heap of this thread's own. From here, near its
 * beginning, half of its size is surely there. */
void __wrap_x_cgo_init(struct go_stack *g, void (*set)(void *), void **tls, void **base)
{
	pthread_attr_t attributes;
	size_t size;
	char here;

	(void)tls; /* Android's */
	(void)base;
	set_g = set;
	if (pthread_attr_init(&attributes) != 0 || pthread_attr_getstacksize(&attributes, &size) != 0)
		abort();
	pthread_attr_destroy(&attributes);
	g->low = (uintptr_t)&here - size / 2;
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

static void *run(void *argument)
{
	struct go_start start = *(struct go_start *)argument;

	leave(argument);
	ks_go_thread(1);
	crosscall1(start.function, set_g, start.g);
	ks_go_thread(-1);
	return NULL;
}

/* Threads that are there before Go wants them: the host's thread makes them, which waits for
 * Go's first one, while that sets up the runtime. The C library would make that one a heap of
 * its own for the memory that a thread takes. */
enum { most_spare = 2 }; /* Go's monitor, and the one that makes threads for those of hosts */

static struct {
	pthread_mutex_t lock;
	pthread_cond_t more;
	struct go_start given[most_spare];
	size_t size; /* of their stacks */
	int made, ngiven, taken, unspared; /* the first three at most most_spare */
} spare = {.lock = PTHREAD_MUTEX_INITIALIZER, .more = PTHREAD_COND_INITIALIZER};

static void *stand_by(void *unused)
{
	ks_go_thread(1);
	pthread_mutex_lock(&spare.lock);
	while (spare.taken == spare.ngiven)
		pthread_cond_wait(&spare.more, &spare.lock);
	struct go_start start = spare.given[spare.taken++];
	pthread_mutex_unlock(&spare.lock);
	crosscall1(start.function, set_g, start.g);
	ks_go_thread(-1);
	return unused;
}

/* Whether a spare thread begins with that. */
static bool spared(struct go_start *start)
{
	pthread_mutex_lock(&spare.lock);
	bool is = spare.ngiven < spare.made;
	if (is) {
		start->g->high = spare.size; /* Go makes bounds of that */
		spare.given[spare.ngiven++] = *start;
		pthread_cond_signal(&spare.more);
	} else {
		spare.unspared++;
	}
	pthread_mutex_unlock(&spare.lock);
	return is;
}

void ks_spare_threads(void)
{
	pthread_attr_t attributes;
	pthread_t thread;
	sigset_t all, before;
	bool go = true;

	if (pthread_attr_init(&attributes) != 0)
		return;
	pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
	pthread_attr_getstacksize(&attributes, &spare.size);
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	while (go) {
		pthread_mutex_lock(&spare.lock);
		go = spare.made + spare.unspared < most_spare && pthread_create(&thread, &attributes, stand_by, NULL) == 0;
		spare.made += go;
		pthread_mutex_unlock(&spare.lock);
	}
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	pthread_attr_destroy(&attributes);
}

/* What Go calls for each thread that it makes. Like runtime/cgo's it ends the process
 * where there can be none: Go can not go on without. */
void __wrap_x_cgo_thread_start(struct go_start *start)
{
	struct go_start *at;
	pthread_attr_t attributes;
	pthread_t thread;
	sigset_t all, before;
	size_t size;

	if (spared(start))
		return;
	at = place();
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
