/* check.h: what the test programs share. A check that fails ends the program. */
#ifndef CHECK_H
#define CHECK_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kernstash.h"

#define CHECK(condition) \
	do { \
		if (!(condition)) { \
			fprintf(stderr, "%s:%d: %s (%s)\n", __FILE__, __LINE__, #condition, kernstash_detail()); \
			exit(1); \
		} \
	} while (0)

/* Says that a call returned a status. */
#define IS(want, call) \
	do { \
		int got_ = (call); \
		if (got_ != (want)) { \
			fprintf(stderr, "%s:%d: %s is %d (%s: %s), not %s\n", __FILE__, __LINE__, #call, got_, \
				kernstash_strerror(got_), kernstash_detail(), #want); \
			exit(1); \
		} \
	} while (0)

#define OK(call) IS(KERNSTASH_OK, call)

/* A cache in $TEST_DIR, which the environment cannot move. */
static inline kernstash_cache *open_cache(void)
{
	kernstash_cache *cache;
	OK(kernstash_open(NULL, &cache));
	CHECK(cache != NULL);
	return cache;
}

static inline kernstash_device *open_device_with(kernstash_cache *cache, const char *driver)
{
	kernstash_identity id = {
		.size = sizeof id, .api = "test", .platform = "platform", .name = "device", .version = "1", .driver = driver,
	};
	kernstash_device *device;
	OK(kernstash_device_open(cache, &id, &device));
	CHECK(device != NULL);
	return device;
}

static inline kernstash_device *open_device(kernstash_cache *cache)
{
	return open_device_with(cache, "1.0");
}

/* A lookup with a library version and no variants. */
static inline kernstash_lookup *open_lookup(kernstash_device *device, const char *program)
{
	kernstash_lookup *l;
	OK(kernstash_lookup_open(device, program, &l));
	OK(kernstash_lookup_library(l, "lib", "1"));
	return l;
}

static inline void populate(kernstash_lookup *l, const char *binary)
{
	CHECK(!kernstash_lookup_found(l));
	OK(kernstash_lookup_set(l, binary, strlen(binary)));
	OK(kernstash_lookup_populate(l));
}

static inline void check_binary(const kernstash_lookup *l, const char *want)
{
	const void *data;
	size_t size;
	OK(kernstash_lookup_binary(l, &data, &size));
	CHECK(size == strlen(want) && memcmp(data, want, size) == 0);
}

static inline int64_t counter(kernstash_cache *cache, const char *name)
{
	int64_t n;
	OK(kernstash_counter(cache, name, &n));
	return n;
}

/* The parts of the test program, by name. */
typedef void part(void);
struct named_part {
	const char *name;
	part *run;
};

#define PART(name) {#name, name}

#endif
