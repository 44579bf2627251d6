/*
 * second.c: prints how many microseconds a thread's first call takes, right after another
 * thread opened the library.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <time.h>

#include "kernstash.h"

static kernstash_cache *_Atomic cache;

static double now(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e6 + (double)t.tv_nsec / 1e3;
}

static void *second(void *took)
{
	kernstash_statistics s = {.size = sizeof s};
	kernstash_cache *opened;
	while ((opened = atomic_load(&cache)) == NULL)
		sched_yield();
	double began = now();
	if (kernstash_stats(opened, &s) != KERNSTASH_OK)
		return NULL;
	*(double *)took = now() - began;
	return took;
}

int main(void)
{
	pthread_t t;
	double took;
	void *done;
	kernstash_cache *opened = NULL;
	if (pthread_create(&t, NULL, second, &took) != 0 || kernstash_open(NULL, &opened) != KERNSTASH_OK)
		return 1;
	atomic_store(&cache, opened);
	if (pthread_join(t, &done) != 0 || done == NULL)
		return 1;
	printf("%.0f\n", took);
	return kernstash_close(opened) == KERNSTASH_OK ? 0 : 1;
}
