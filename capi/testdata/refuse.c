/* refuse.c: what makes no sense is refused, and harms nothing that comes after. */
#define _GNU_SOURCE
#include "parts.h"

static int never(void *user, kernstash_lookup *l)
{
	(void)user, (void)l;
	abort();
}

static int sets(void *user, kernstash_lookup *l)
{
	(void)user;
	return kernstash_lookup_set(l, "set", 3);
}

static void null_handles(void)
{
	kernstash_options bad = {.size = 3};
	kernstash_identity id = {.size = sizeof id, .api = "test", .name = "device", .driver = "1"};
	kernstash_artifact a = {.size = sizeof a, .data = "x", .data_size = 1};
	kernstash_statistics s = {.size = sizeof s};
	kernstash_cache *cache;
	kernstash_device *device;
	kernstash_lookup *l;
	const void *data;
	size_t size;
	int64_t n;

	IS(KERNSTASH_INVALID, kernstash_open(NULL, NULL));
	IS(KERNSTASH_INVALID, kernstash_open(&bad, &cache));
	CHECK(cache == NULL);
	bad = (kernstash_options){.size = sizeof bad, .flags = 64};
	IS(KERNSTASH_INVALID, kernstash_open(&bad, &cache));
	IS(KERNSTASH_INVALID, kernstash_flush(NULL, 1));
	OK(kernstash_close(NULL));
	IS(KERNSTASH_INVALID, kernstash_stats(NULL, &s));
	IS(KERNSTASH_INVALID, kernstash_counter(NULL, "disk.hits", &n));
	IS(KERNSTASH_INVALID, kernstash_device_open(NULL, &id, &device));
	CHECK(device == NULL);
	IS(KERNSTASH_INVALID, kernstash_device_opencl(NULL, NULL, NULL, &device));
	CHECK(*kernstash_device_directory(NULL) == '\0');
	kernstash_device_close(NULL);
	IS(KERNSTASH_INVALID, kernstash_lookup_open(NULL, "p", &l));
	CHECK(l == NULL);
	IS(KERNSTASH_INVALID, kernstash_lookup_context(NULL, "", 0));
	IS(KERNSTASH_INVALID, kernstash_lookup_source(NULL, "s", 1));
	IS(KERNSTASH_INVALID, kernstash_lookup_library(NULL, "l", "1"));
	IS(KERNSTASH_INVALID, kernstash_lookup_int(NULL, 1));
	IS(KERNSTASH_INVALID, kernstash_lookup_double(NULL, 1));
	IS(KERNSTASH_INVALID, kernstash_lookup_string(NULL, ""));
	IS(KERNSTASH_INVALID, kernstash_lookup_bytes(NULL, "", 0));
	IS(KERNSTASH_INVALID, kernstash_lookup_options(NULL, ""));
	CHECK(!kernstash_lookup_found(NULL));
	IS(KERNSTASH_INVALID, kernstash_lookup_binary(NULL, &data, &size));
	IS(KERNSTASH_INVALID, kernstash_lookup_artifact(NULL, &a));
	IS(KERNSTASH_INVALID, kernstash_lookup_set(NULL, "x", 1));
	IS(KERNSTASH_INVALID, kernstash_lookup_set_artifact(NULL, &a));
	IS(KERNSTASH_INVALID, kernstash_lookup_populate(NULL));
	IS(KERNSTASH_INVALID, kernstash_lookup_refused(NULL));
	IS(KERNSTASH_INVALID, kernstash_lookup_get_or_build(NULL, never, NULL));
	IS(KERNSTASH_INVALID, kernstash_lookup_fail(NULL, 1, ""));
	IS(KERNSTASH_INVALID, kernstash_lookup_failure(NULL, NULL, NULL));
	kernstash_lookup_close(NULL);
}

static void devices(kernstash_cache *cache)
{
	const kernstash_pair half[] = {{"name", NULL}};
	const kernstash_identity good = {.size = sizeof good, .api = "test", .name = "device", .driver = "1"};
	kernstash_identity id;
	kernstash_device *device;

	IS(KERNSTASH_INVALID, kernstash_device_open(cache, NULL, &device));
	IS(KERNSTASH_INVALID, kernstash_device_open(cache, &good, NULL));
	id = good, id.size = 1;
	IS(KERNSTASH_INVALID, kernstash_device_open(cache, &id, &device));
	id = good, id.api = NULL;
	IS(KERNSTASH_INVALID, kernstash_device_open(cache, &id, &device));
	id = good, id.name = "";
	IS(KERNSTASH_INVALID, kernstash_device_open(cache, &id, &device));
	id = good, id.driver = NULL;
	IS(KERNSTASH_INVALID, kernstash_device_open(cache, &id, &device));
	id = good, id.traits = half, id.trait_count = 1;
	IS(KERNSTASH_INVALID, kernstash_device_open(cache, &id, &device));
	id = good, id.compiler = NULL, id.compiler_count = 1;
	IS(KERNSTASH_INVALID, kernstash_device_open(cache, &id, &device));
	id = good, id.trait_count = (size_t)-1, id.traits = half;
	IS(KERNSTASH_INVALID, kernstash_device_open(cache, &id, &device));
	CHECK(device == NULL);
	IS(KERNSTASH_INVALID, kernstash_device_opencl(cache, NULL, NULL, &device));
}

static void lookups(kernstash_device *device)
{
	kernstash_lookup *l;
	kernstash_artifact a;
	const char *no_name[] = {NULL};
	const void *data;
	size_t size;

	IS(KERNSTASH_INVALID, kernstash_lookup_open(device, NULL, &l));
	IS(KERNSTASH_INVALID, kernstash_lookup_open(device, "", &l));
	IS(KERNSTASH_INVALID, kernstash_lookup_open(device, "p", NULL));
	OK(kernstash_lookup_open(device, "p", &l));

	IS(KERNSTASH_INVALID, kernstash_lookup_source(l, NULL, 1));
	IS(KERNSTASH_INVALID, kernstash_lookup_source(l, "", 0));
	IS(KERNSTASH_INVALID, kernstash_lookup_source(l, "x", (size_t)-1));
	IS(KERNSTASH_INVALID, kernstash_lookup_library(l, "l", NULL));
	IS(KERNSTASH_INVALID, kernstash_lookup_library(l, "l", ""));
	IS(KERNSTASH_INVALID, kernstash_lookup_string(l, NULL));
	IS(KERNSTASH_INVALID, kernstash_lookup_options(l, NULL));
	IS(KERNSTASH_INVALID, kernstash_lookup_bytes(l, NULL, 1));
	IS(KERNSTASH_INVALID, kernstash_lookup_bytes(l, "x", SIZE_MAX / 2));
	IS(KERNSTASH_INVALID, kernstash_lookup_context(l, NULL, 0));

	/* A key of which a part was refused is none. */
	OK(kernstash_lookup_library(l, "lib", "1"));
	CHECK(!kernstash_lookup_found(l) && strstr(kernstash_detail(), "refused") != NULL);
	IS(KERNSTASH_INVALID, kernstash_lookup_get_or_build(l, never, NULL));
	OK(kernstash_lookup_set(l, "x", 1));
	IS(KERNSTASH_INVALID, kernstash_lookup_populate(l));
	check_binary(l, "x");
	OK(kernstash_lookup_refused(l));
	kernstash_lookup_close(l);

	/* Neither source nor version. */
	OK(kernstash_lookup_open(device, "p", &l));
	CHECK(!kernstash_lookup_found(l));
	IS(KERNSTASH_NO_KEY, kernstash_lookup_get_or_build(l, never, NULL));
	OK(kernstash_lookup_set(l, "x", 1));
	IS(KERNSTASH_NO_KEY, kernstash_lookup_populate(l));
	check_binary(l, "x");
	kernstash_lookup_close(l);

	OK(kernstash_lookup_open(device, "p", &l));
	OK(kernstash_lookup_library(l, "lib", "1"));
	IS(KERNSTASH_INVALID, kernstash_lookup_get_or_build(l, NULL, NULL));
	IS(KERNSTASH_NOT_FOUND, kernstash_lookup_populate(l));
	IS(KERNSTASH_NOT_FOUND, kernstash_lookup_refused(l));
	IS(KERNSTASH_INVALID, kernstash_lookup_binary(l, NULL, &size));
	IS(KERNSTASH_INVALID, kernstash_lookup_binary(l, &data, NULL));
	IS(KERNSTASH_INVALID, kernstash_lookup_artifact(l, NULL));
	IS(KERNSTASH_INVALID, kernstash_lookup_fail(l, 1, ""));
	IS(KERNSTASH_NOT_FOUND, kernstash_lookup_failure(l, NULL, NULL));
	CHECK(!kernstash_lookup_found(l));

	IS(KERNSTASH_INVALID, kernstash_lookup_set(l, NULL, 1));
	IS(KERNSTASH_INVALID, kernstash_lookup_set(l, "x", 0));
	IS(KERNSTASH_INVALID, kernstash_lookup_set(l, "x", SIZE_MAX));
	a = (kernstash_artifact){.size = 2, .data = "x", .data_size = 1};
	IS(KERNSTASH_INVALID, kernstash_lookup_set_artifact(l, &a));
	a = (kernstash_artifact){.size = sizeof a, .data = "x", .data_size = 1, .form = 4};
	IS(KERNSTASH_INVALID, kernstash_lookup_set_artifact(l, &a));
	a = (kernstash_artifact){.size = sizeof a, .data = "x", .data_size = 1, .cost = -1};
	IS(KERNSTASH_INVALID, kernstash_lookup_set_artifact(l, &a));
	a = (kernstash_artifact){.size = sizeof a, .data = "x", .data_size = 1, .launches = no_name, .launch_count = 1};
	IS(KERNSTASH_INVALID, kernstash_lookup_set_artifact(l, &a));
	a = (kernstash_artifact){.size = sizeof a, .data = "x", .data_size = 1, .launches = no_name, .launch_count = SIZE_MAX / 8};
	IS(KERNSTASH_INVALID, kernstash_lookup_set_artifact(l, &a));
	IS(KERNSTASH_NOT_FOUND, kernstash_lookup_binary(l, &data, &size));
	IS(KERNSTASH_INVALID, kernstash_lookup_int(l, 1)); /* too late */
	OK(kernstash_lookup_set(l, "x", 1));
	IS(KERNSTASH_INVALID, kernstash_lookup_populate(l));
	kernstash_lookup_close(l);
}

void refuses(void)
{
	kernstash_cache *cache;
	kernstash_device *device;
	kernstash_lookup *l;
	int64_t n;
	union {
		kernstash_statistics s;
		char bytes[512];
	} u;

	for (int i = -20; i < 5; i++)
		CHECK(kernstash_strerror(i) != NULL && *kernstash_strerror(i) != '\0');
	null_handles();
	cache = open_cache();
	devices(cache);
	device = open_device(cache);
	lookups(device);
	IS(KERNSTASH_NOT_FOUND, kernstash_counter(cache, "no such counter", &n));
	IS(KERNSTASH_INVALID, kernstash_counter(cache, NULL, &n));
	IS(KERNSTASH_INVALID, kernstash_counter(cache, "disk.hits", NULL));

	/* Structures of older and of newer callers. */
	memset(&u, 0x55, sizeof u);
	u.s.size = offsetof(kernstash_statistics, disk_hits);
	OK(kernstash_stats(cache, &u.s));
	CHECK(u.s.memory_waits == 0 && u.s.disk_hits == 0x5555555555555555);
	memset(&u, 0x55, sizeof u);
	u.s.size = sizeof u;
	OK(kernstash_stats(cache, &u.s));
	CHECK(u.s.size == sizeof u && u.bytes[sizeof u - 1] == 0);

	/* All of that poisoned nothing. */
	l = open_lookup(device, "program");
	populate(l, "x");
	kernstash_lookup_close(l);

	/* A closed cache. */
	l = open_lookup(device, "program");
	OK(kernstash_close(cache));
	CHECK(!kernstash_lookup_found(l));
	OK(kernstash_lookup_set(l, "x", 1));
	IS(KERNSTASH_CLOSED, kernstash_lookup_populate(l));
	kernstash_lookup_close(l);
	kernstash_device_close(device);
}

/* A defect of ours is an error of one call: the library's own memory is written to,
 * as a host might do. */
void panics(void)
{
	kernstash_cache *cache = open_cache();
	kernstash_device *device = open_device(cache);
	kernstash_lookup *l = open_lookup(device, "program");
	kernstash_statistics s = {.size = sizeof s};
	uintptr_t *handle = (uintptr_t *)(void *)cache + 1, was = *handle; /* see internal.h */
	uintptr_t *of_device = (uintptr_t *)(void *)device + 2, device_was = *of_device;
	kernstash_device *other;

	*handle = 0xdead;
	IS(KERNSTASH_INTERNAL, kernstash_stats(cache, &s));
	CHECK(strstr(kernstash_detail(), "panic") != NULL);
	IS(KERNSTASH_INTERNAL, kernstash_flush(cache, 1));
	IS(KERNSTASH_INTERNAL, kernstash_device_open(cache, &(kernstash_identity){
		.size = sizeof(kernstash_identity), .api = "a", .name = "n", .driver = "d"}, &other));
	*handle = device_was; /* another kind of thing */
	IS(KERNSTASH_INTERNAL, kernstash_stats(cache, &s));
	*handle = was;
	OK(kernstash_stats(cache, &s));

	*of_device = 0xdead;
	CHECK(!kernstash_lookup_found(l));
	OK(kernstash_lookup_get_or_build(l, sets, NULL)); /* builds */
	check_binary(l, "set");
	IS(KERNSTASH_INTERNAL, kernstash_lookup_populate(l));
	kernstash_lookup_close(l);
	*of_device = device_was;
	l = open_lookup(device, "program");
	populate(l, "x");
	kernstash_lookup_close(l);
	kernstash_device_close(device);
	OK(kernstash_close(cache));
}

/* KERNSTASH_MAX_SIZE makes no sense. */
void bad_setting(void)
{
	kernstash_cache *cache;
	IS(KERNSTASH_SETTING, kernstash_open(NULL, &cache));
	CHECK(cache == NULL && strstr(kernstash_detail(), "KERNSTASH_MAX_SIZE") != NULL && strstr(kernstash_detail(), "lots") != NULL);
}

/* The program sets a variable after the library was loaded. */
void late_setting(void)
{
	char directory[512];
	snprintf(directory, sizeof directory, "%s/late", getenv("TEST_DIR"));
	CHECK(setenv("KERNSTASH_DIR", directory, 1) == 0);
	populated();
}

/* Everything is off. */
void disabled(void)
{
	kernstash_cache *cache = open_cache();
	kernstash_device *device = open_device(cache);
	kernstash_lookup *l = open_lookup(device, "program");

	CHECK(!kernstash_lookup_found(l));
	OK(kernstash_lookup_set(l, "x", 1));
	IS(KERNSTASH_NOT_STORED, kernstash_lookup_populate(l));
	kernstash_lookup_close(l);
	kernstash_device_close(device);
	OK(kernstash_close(cache));
}
