/*
 * kernstash_stub.c: libkernstash.so.1 where it is installed, and misses where it is
 * not. Compile it into an application or a library, with kernstash_stub.h and
 * kernstash.h beside it, and link with -ldl where the C library is older than glibc
 * 2.34. It is under the licence of kernstash, which asks for its notice only.
 *
 * The first call loads the library, once. It stays out
 *   - where it is not installed, or lacks a function that this stub knows;
 *   - of programs with rights beyond their user's (set-user-id and the like);
 *   - where the limit of the address space (RLIMIT_AS) leaves less than
 *     KERNSTASH_ADDRESS_SPACE: the Go runtime in it would end the process;
 *   - where KERNSTASH_DISABLE is 1, true, yes or on.
 * kernstash_detail says which. A process that forks before its first call can use
 * the library in its children.
 *
 * -DKERNSTASH_STUB_LIBRARY='"/opt/.../libkernstash.so.1"' loads another file.
 */
#define _GNU_SOURCE
#include "kernstash_stub.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/auxv.h>
#include <sys/resource.h>
#include <unistd.h>

#ifndef KERNSTASH_STUB_LIBRARY
#define KERNSTASH_STUB_LIBRARY "libkernstash.so.1"
#endif

/* What opens something leaves no handle. */
#define NO_HANDLE(handle) (handle != NULL ? (void)(*handle = NULL) : (void)0, KERNSTASH_UNAVAILABLE)

/* The functions of kernstash.h: what each returns, its name, its parameters, and what it is called with;
 * then what it answers where the library is not usable, or nothing. */
#define FUNCTIONS(VALUE, NOTHING) \
	VALUE(const char *, strerror, (int status), (status), status == KERNSTASH_OK ? "success" : "kernstash is not available in this process") \
	VALUE(const char *, detail, (void), (), reason) \
	VALUE(const char *, version, (void), (), "") \
	VALUE(int, open, (const kernstash_options *options, kernstash_cache **cache), (options, cache), NO_HANDLE(cache)) \
	VALUE(int, flush, (kernstash_cache *cache, uint32_t milliseconds), (cache, milliseconds), KERNSTASH_UNAVAILABLE) \
	VALUE(int, close, (kernstash_cache *cache), (cache), KERNSTASH_OK) \
	VALUE(int, stats, (kernstash_cache *cache, kernstash_statistics *statistics), (cache, statistics), KERNSTASH_UNAVAILABLE) \
	VALUE(int, counter, (kernstash_cache *cache, const char *name, int64_t *value), (cache, name, value), KERNSTASH_UNAVAILABLE) \
	VALUE(int, device_open, (kernstash_cache *cache, const kernstash_identity *identity, kernstash_device **device), (cache, identity, device), NO_HANDLE(device)) \
	VALUE(int, device_opencl, (kernstash_cache *cache, void *platform, void *id, kernstash_device **device), (cache, platform, id, device), NO_HANDLE(device)) \
	VALUE(const char *, device_directory, (const kernstash_device *device), (device), "") \
	NOTHING(void, device_close, (kernstash_device *device), (device)) \
	VALUE(int, lookup_open, (kernstash_device *device, const char *program, kernstash_lookup **lookup), (device, program, lookup), NO_HANDLE(lookup)) \
	VALUE(int, lookup_context, (kernstash_lookup *lookup, const void *data, size_t size), (lookup, data, size), KERNSTASH_UNAVAILABLE) \
	VALUE(int, lookup_source, (kernstash_lookup *lookup, const char *text, size_t size), (lookup, text, size), KERNSTASH_UNAVAILABLE) \
	VALUE(int, lookup_library, (kernstash_lookup *lookup, const char *name, const char *version), (lookup, name, version), KERNSTASH_UNAVAILABLE) \
	VALUE(int, lookup_int, (kernstash_lookup *lookup, int64_t value), (lookup, value), KERNSTASH_UNAVAILABLE) \
	VALUE(int, lookup_double, (kernstash_lookup *lookup, double value), (lookup, value), KERNSTASH_UNAVAILABLE) \
	VALUE(int, lookup_string, (kernstash_lookup *lookup, const char *value), (lookup, value), KERNSTASH_UNAVAILABLE) \
	VALUE(int, lookup_bytes, (kernstash_lookup *lookup, const void *data, size_t size), (lookup, data, size), KERNSTASH_UNAVAILABLE) \
	VALUE(int, lookup_options, (kernstash_lookup *lookup, const char *options), (lookup, options), KERNSTASH_UNAVAILABLE) \
	VALUE(int, lookup_found, (kernstash_lookup *lookup), (lookup), 0) \
	VALUE(int, lookup_binary, (const kernstash_lookup *lookup, const void **data, size_t *size), (lookup, data, size), KERNSTASH_UNAVAILABLE) \
	VALUE(int, lookup_artifact, (const kernstash_lookup *lookup, kernstash_artifact *artifact), (lookup, artifact), KERNSTASH_UNAVAILABLE) \
	VALUE(int, lookup_set, (kernstash_lookup *lookup, const void *data, size_t size), (lookup, data, size), KERNSTASH_UNAVAILABLE) \
	VALUE(int, lookup_set_artifact, (kernstash_lookup *lookup, const kernstash_artifact *artifact), (lookup, artifact), KERNSTASH_UNAVAILABLE) \
	VALUE(int, lookup_populate, (kernstash_lookup *lookup), (lookup), KERNSTASH_UNAVAILABLE) \
	VALUE(int, lookup_refused, (kernstash_lookup *lookup), (lookup), KERNSTASH_UNAVAILABLE) \
	VALUE(int, lookup_get_or_build, (kernstash_lookup *lookup, kernstash_build_fn build, void *user), (lookup, build, user), KERNSTASH_UNAVAILABLE) \
	VALUE(int, lookup_fail, (kernstash_lookup *lookup, int code, const char *log), (lookup, code, log), KERNSTASH_UNAVAILABLE) \
	VALUE(int, lookup_failure, (const kernstash_lookup *lookup, int *code, const char **log), (lookup, code, log), KERNSTASH_UNAVAILABLE) \
	NOTHING(void, lookup_close, (kernstash_lookup *lookup), (lookup))

/* Those of the library. */
#define DECLARE(type, name, parameters, ...) type(*name) parameters;
static struct {
	FUNCTIONS(DECLARE, DECLARE)
} library;

#define SYMBOL(type, name, ...) {"kernstash_" #name, &library.name},
static const struct {
	const char *name;
	void *at; /* a pointer to a function */
} symbols[] = {
	FUNCTIONS(SYMBOL, SYMBOL)
};

static pthread_once_t once = PTHREAD_ONCE_INIT;
static int loaded;
static char reason[256];

/* Says whether the limit leaves room for the library. */
static int has_room(void)
{
	struct rlimit limit;
	unsigned long pages = 0;

	if (getrlimit(RLIMIT_AS, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY)
		return 1;
	FILE *f = fopen("/proc/self/statm", "re");
	if (f == NULL)
		return 0;
	if (fscanf(f, "%lu", &pages) != 1)
		pages = 0;
	fclose(f);
	uint64_t used = (uint64_t)pages * (uint64_t)sysconf(_SC_PAGESIZE);
	return pages > 0 && limit.rlim_cur >= used && limit.rlim_cur - used >= KERNSTASH_ADDRESS_SPACE;
}

/* Says whether KERNSTASH_DISABLE is one of the words that mean it. The library tells of
 * one that makes no sense. */
static int switched_off(void)
{
	static const char *const words[] = {"1", "true", "yes", "on"};
	const char *off = getenv("KERNSTASH_DISABLE");

	for (size_t i = 0; off != NULL && i < sizeof words / sizeof *words; i++)
		if (strcasecmp(off, words[i]) == 0)
			return 1;
	return 0;
}

static void load(void)
{
	void *handle = NULL;
	const char *why = NULL;

	if (getauxval(AT_SECURE) != 0)
		why = "the program has rights beyond its user's";
	else if (switched_off())
		why = "KERNSTASH_DISABLE switches the cache off";
	else if (!has_room())
		why = "the limit of the address space (ulimit -v) leaves no room for the library";
	else if ((handle = dlopen(KERNSTASH_STUB_LIBRARY, RTLD_NOW | RTLD_LOCAL)) == NULL && (why = dlerror()) == NULL)
		why = "not installed";
	if (why != NULL) {
		snprintf(reason, sizeof reason, "%s", why);
		return;
	}
	for (size_t i = 0; i < sizeof symbols / sizeof *symbols; i++) {
		void *at = dlsym(handle, symbols[i].name);
		if (at == NULL) {
			snprintf(reason, sizeof reason, "%s lacks %s", KERNSTASH_STUB_LIBRARY, symbols[i].name);
			return; /* it cannot be unloaded */
		}
		memcpy(symbols[i].at, &at, sizeof at);
	}
	loaded = 1;
}

static int usable(void) { return pthread_once(&once, load) == 0 && loaded; }

#define CALL(type, name, parameters, arguments, otherwise) \
	type kernstash_##name parameters \
	{ \
		return usable() ? library.name arguments : (otherwise); \
	}
#define CALL_VOID(type, name, parameters, arguments) \
	type kernstash_##name parameters \
	{ \
		if (usable()) \
			library.name arguments; \
	}
FUNCTIONS(CALL, CALL_VOID)
