/* build.c: get or build. */
#define _GNU_SOURCE
#include "parts.h"

#include <pthread.h>
#include <stdatomic.h>
#include <time.h>
#include <unistd.h>

static void sleep_ms(long ms)
{
	struct timespec t = {ms / 1000, ms % 1000 * 1000000};
	nanosleep(&t, NULL);
}

static atomic_int builds;

static int slow(void *user, kernstash_lookup *l)
{
	(void)user;
	atomic_fetch_add(&builds, 1);
	sleep_ms(200);
	return kernstash_lookup_set(l, "built", 5);
}

static int never(void *user, kernstash_lookup *l)
{
	(void)user, (void)l;
	abort();
}

static uint32_t origin(const kernstash_lookup *l)
{
	kernstash_artifact a = {.size = sizeof a};
	OK(kernstash_lookup_artifact(l, &a));
	return a.origin;
}

static void *get(void *device)
{
	kernstash_lookup *l = open_lookup(device, "program");
	OK(kernstash_lookup_get_or_build(l, slow, NULL));
	check_binary(l, "built");
	kernstash_lookup_close(l);
	return NULL;
}

enum { thread_count = 8 };

void threads(void)
{
	kernstash_cache *cache = open_cache();
	kernstash_device *device = open_device(cache);
	kernstash_statistics s = {.size = sizeof s};
	kernstash_lookup *l;
	pthread_t t[thread_count];

	for (int i = 0; i < thread_count; i++)
		CHECK(pthread_create(&t[i], NULL, get, device) == 0);
	for (int i = 0; i < thread_count; i++)
		CHECK(pthread_join(t[i], NULL) == 0);
	CHECK(atomic_load(&builds) == 1);
	l = open_lookup(device, "program");
	OK(kernstash_lookup_get_or_build(l, never, NULL));
	OK(kernstash_lookup_get_or_build(l, never, NULL)); /* it has one */
	check_binary(l, "built");
	CHECK(origin(l) == KERNSTASH_FROM_MEMORY);
	OK(kernstash_flush(cache, 10000));
	OK(kernstash_stats(cache, &s));
	/* A thread that came when it was built already has not waited. */
	CHECK(s.builds == 1 && s.stored == 1 && s.memory_hits >= 1 && s.memory_hits + s.memory_waits == thread_count);
	CHECK(s.build_time >= 200 * 1000000ll);
	kernstash_device_close(device);
	OK(kernstash_close(cache));
	check_binary(l, "built");
	kernstash_lookup_close(l);
}

/* One of several processes; prints what it built. */
void process(void)
{
	kernstash_cache *cache = open_cache();
	kernstash_device *device = open_device(cache);
	get(device);
	printf("builds %d\n", atomic_load(&builds));
	kernstash_device_close(device);
	OK(kernstash_close(cache));
}

/* The callback runs on the thread of its caller, and nests. */
struct nest {
	kernstash_device *device;
	pthread_t thread;
	int depth;
};

static int nested(void *user, kernstash_lookup *l)
{
	struct nest *n = user;
	char name[32];

	CHECK(pthread_equal(n->thread, pthread_self()));
	if (n->depth-- > 0) {
		kernstash_lookup *inner;
		snprintf(name, sizeof name, "depth %d", n->depth);
		inner = open_lookup(n->device, name);
		OK(kernstash_lookup_get_or_build(inner, nested, n));
		kernstash_lookup_close(inner);
	}
	return kernstash_lookup_set(l, "nested", 6);
}

static int asks_itself(void *user, kernstash_lookup *l)
{
	kernstash_lookup *same = open_lookup(user, "cycle");
	IS(KERNSTASH_CYCLE, kernstash_lookup_get_or_build(same, never, NULL));
	IS(KERNSTASH_CYCLE, kernstash_lookup_get_or_build(l, never, NULL));
	kernstash_lookup_close(same);
	return kernstash_lookup_set(l, "out of it", 9);
}

static int closes(void *user, kernstash_lookup *l)
{
	IS(KERNSTASH_INVALID, kernstash_close(user));
	kernstash_lookup_close(l); /* it is its caller's: nothing */
	return kernstash_lookup_set(l, "closed", 6);
}

void nests(void)
{
	kernstash_cache *cache = open_cache();
	kernstash_device *device = open_device(cache);
	struct nest n = {device, pthread_self(), 5};
	kernstash_lookup *l = open_lookup(device, "outermost");

	OK(kernstash_lookup_get_or_build(l, nested, &n));
	CHECK(n.depth == -1);
	CHECK(origin(l) == KERNSTASH_FROM_CALLER);
	kernstash_lookup_close(l);
	l = open_lookup(device, "cycle");
	OK(kernstash_lookup_get_or_build(l, asks_itself, device));
	check_binary(l, "out of it");
	kernstash_lookup_close(l);
	l = open_lookup(device, "closes");
	OK(kernstash_lookup_get_or_build(l, closes, cache));
	check_binary(l, "closed");
	kernstash_lookup_close(l);
	kernstash_device_close(device);
	OK(kernstash_close(cache));
}

/* Builds that fail. */
static int says_no(void *user, kernstash_lookup *l)
{
	(void)user;
	atomic_fetch_add(&builds, 1);
	sleep_ms(100);
	OK(kernstash_lookup_fail(l, -11, "line 1: no"));
	return -11;
}

static int breaks(void *user, kernstash_lookup *l)
{
	(void)l;
	if (atomic_fetch_add(&builds, 1) == 0)
		return 77;
	return *(int *)user != 0 ? *(int *)user : kernstash_lookup_set(l, "at last", 7);
}

static int sets_nothing(void *user, kernstash_lookup *l)
{
	(void)user, (void)l;
	return 0;
}

static void *get_no(void *device)
{
	kernstash_lookup *l = open_lookup(device, "wrong");
	const char *log;
	int code;

	IS(KERNSTASH_BUILD_FAILED, kernstash_lookup_get_or_build(l, says_no, NULL));
	OK(kernstash_lookup_failure(l, &code, &log));
	CHECK(code == -11 && strcmp(log, "line 1: no") == 0);
	kernstash_lookup_close(l);
	return NULL;
}

void failures(void)
{
	kernstash_cache *cache = open_cache();
	kernstash_device *device = open_device(cache);
	kernstash_lookup *l;
	pthread_t t[thread_count];
	const char *log;
	int code, want = 0;

	/* The compiler's verdict: one build, the same code and log for all. */
	for (int i = 0; i < thread_count; i++)
		CHECK(pthread_create(&t[i], NULL, get_no, device) == 0);
	for (int i = 0; i < thread_count; i++)
		CHECK(pthread_join(t[i], NULL) == 0);
	get_no(device);
	CHECK(atomic_load(&builds) == 1);

	/* Anything else is tried again by who asks next. */
	atomic_store(&builds, 0);
	l = open_lookup(device, "broken");
	IS(KERNSTASH_BUILD_FAILED, kernstash_lookup_get_or_build(l, breaks, &want));
	OK(kernstash_lookup_failure(l, &code, &log));
	CHECK(code == 77 && *log == '\0');
	OK(kernstash_lookup_get_or_build(l, breaks, &want));
	check_binary(l, "at last");
	IS(KERNSTASH_NOT_FOUND, kernstash_lookup_failure(l, &code, &log));
	kernstash_lookup_close(l);

	l = open_lookup(device, "nothing");
	IS(KERNSTASH_BUILD_FAILED, kernstash_lookup_get_or_build(l, sets_nothing, NULL));
	OK(kernstash_lookup_failure(l, &code, NULL));
	CHECK(code == 0);
	kernstash_lookup_close(l);
	OK(kernstash_flush(cache, 10000));
	CHECK(counter(cache, "disk.puts") == 1);
	kernstash_device_close(device);
	OK(kernstash_close(cache));
}

/* Where the cache is of no use it builds: a closed one, one that is off. */
static int quick(void *user, kernstash_lookup *l)
{
	(void)user;
	atomic_fetch_add(&builds, 1);
	return kernstash_lookup_set(l, "quick", 5);
}

void alone(void)
{
	kernstash_cache *cache = open_cache();
	kernstash_device *device = open_device(cache);
	kernstash_lookup *l;

	/* What cannot be cached. */
	for (int i = 1; i <= 2; i++) {
		OK(kernstash_lookup_open(device, "dated", &l));
		OK(kernstash_lookup_source(l, "__TIME__", 8));
		OK(kernstash_lookup_get_or_build(l, quick, NULL));
		check_binary(l, "quick");
		CHECK(atomic_load(&builds) == i);
		kernstash_lookup_close(l);
	}
	OK(kernstash_close(cache));
	for (int i = 3; i <= 4; i++) {
		l = open_lookup(device, "program");
		OK(kernstash_lookup_get_or_build(l, quick, NULL));
		check_binary(l, "quick");
		CHECK(atomic_load(&builds) == i);
		kernstash_lookup_close(l);
	}
	kernstash_device_close(device);
}

/* A thread that ends in its build: the others go on. */
static int cancelled(void *user, kernstash_lookup *l)
{
	(void)l;
	atomic_store((atomic_int *)user, 1);
	while (atomic_load((atomic_int *)user))
		sleep_ms(10); /* a cancellation point */
	return 1;
}

static kernstash_device *the_device;

static void close_it(void *l)
{
	kernstash_lookup_close(l);
}

static void *get_cancelled(void *running)
{
	kernstash_lookup *l = open_lookup(the_device, "program");
	pthread_cleanup_push(close_it, l);
	kernstash_lookup_get_or_build(l, cancelled, running);
	pthread_cleanup_pop(1);
	return NULL;
}

void cancel(void)
{
	kernstash_cache *cache = open_cache();
	atomic_int running = 0;
	pthread_t a, b;
	void *result;

	the_device = open_device(cache);
	CHECK(pthread_create(&a, NULL, get_cancelled, &running) == 0);
	while (!atomic_load(&running))
		sleep_ms(1);
	CHECK(pthread_create(&b, NULL, get, the_device) == 0); /* waits for a */
	sleep_ms(50);
	CHECK(atomic_load(&builds) == 0);
	CHECK(pthread_cancel(a) == 0);
	CHECK(pthread_join(a, &result) == 0 && result == PTHREAD_CANCELED);
	CHECK(pthread_join(b, NULL) == 0);
	CHECK(atomic_load(&builds) == 1);
	kernstash_device_close(the_device);
	OK(kernstash_close(cache));
}

/* A thousand of them, and no memory or descriptor is left behind. */
static long resident(const char *field)
{
	char line[256];
	long kb = -1;
	FILE *f = fopen("/proc/self/status", "r");
	CHECK(f != NULL);
	while (fgets(line, sizeof line, f) != NULL)
		if (strncmp(line, field, strlen(field)) == 0)
			kb = strtol(line + strlen(field), NULL, 10);
	fclose(f);
	return kb;
}

static void round_of(kernstash_device *device, int from, int to)
{
	static char binary[20000];
	for (int i = from; i < to; i++) {
		kernstash_lookup *l = open_lookup(device, "program");
		OK(kernstash_lookup_int(l, i));
		CHECK(!kernstash_lookup_found(l));
		OK(kernstash_lookup_set(l, binary, sizeof binary));
		OK(kernstash_lookup_populate(l));
		kernstash_lookup_close(l);
		l = open_lookup(device, "program");
		OK(kernstash_lookup_int(l, i));
		CHECK(kernstash_lookup_found(l));
		kernstash_lookup_close(l);
		l = open_lookup(device, "built");
		OK(kernstash_lookup_int(l, i));
		OK(kernstash_lookup_get_or_build(l, quick, NULL));
		kernstash_lookup_close(l);
	}
}

void leaks(void)
{
	kernstash_cache *cache = open_cache();
	kernstash_device *device = open_device(cache);
	long before, after;

	round_of(device, 0, 600); /* of two programs each: the memory tier, which keeps 1024, is full */
	before = resident("VmRSS:");
	round_of(device, 600, 1300);
	after = resident("VmRSS:");
	printf("resident after 600 and 1300 programs: %ld and %ld KiB\n", before, after);
	CHECK(after - before < 4096);
	kernstash_device_close(device);
	OK(kernstash_close(cache));
}
