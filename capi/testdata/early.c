/*
 * early.c: what a process does right after it has opened the library. Prints how many
 * microseconds a call takes: PROGRAM thread|build|close.
 */
#define _GNU_SOURCE
#include "check.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <time.h>

static double now(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e6 + (double)t.tv_nsec / 1e3;
}

static kernstash_cache *_Atomic opened;

/* The first call of a second thread. */
static void *second(void *took)
{
	kernstash_statistics s = {.size = sizeof s};
	kernstash_cache *cache;
	while ((cache = atomic_load(&opened)) == NULL)
		sched_yield();
	double began = now();
	OK(kernstash_stats(cache, &s));
	*(double *)took = now() - began;
	return NULL;
}

static int build(void *user, kernstash_lookup *l)
{
	(void)user;
	return kernstash_lookup_set(l, "built", 5);
}

int main(int n, char **arguments)
{
	const char *what = n > 1 ? arguments[1] : "";
	double took = 0, began;
	pthread_t t;

	if (strcmp(what, "thread") == 0)
		CHECK(pthread_create(&t, NULL, second, &took) == 0);
	kernstash_cache *cache = open_cache();
	if (strcmp(what, "thread") == 0) {
		atomic_store(&opened, cache);
		CHECK(pthread_join(t, NULL) == 0);
	} else if (strcmp(what, "build") == 0) {
		kernstash_device *device = open_device(cache);
		kernstash_lookup *l = open_lookup(device, "program");
		began = now();
		OK(kernstash_lookup_get_or_build(l, build, NULL));
		took = now() - began;
		kernstash_lookup_close(l);
		kernstash_device_close(device);
	}
	began = now();
	OK(kernstash_close(cache));
	if (strcmp(what, "close") == 0)
		took = now() - began;
	printf("%.0f\n", took);
	return 0;
}
