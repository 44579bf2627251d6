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

static struct {
	const char *(*strerror)(int status);
	const char *(*detail)(void);
	const char *(*version)(void);
	int (*open)(const kernstash_options *options, kernstash_cache **cache);
	int (*flush)(kernstash_cache *cache, uint32_t milliseconds);
	int (*close)(kernstash_cache *cache);
	int (*stats)(kernstash_cache *cache, kernstash_statistics *statistics);
	int (*counter)(kernstash_cache *cache, const char *name, int64_t *value);
	int (*device_open)(kernstash_cache *cache, const kernstash_identity *identity, kernstash_device **device);
	int (*device_opencl)(kernstash_cache *cache, void *cl_platform_id, void *cl_device_id, kernstash_device **device);
	const char *(*device_directory)(const kernstash_device *device);
	void (*device_close)(kernstash_device *device);
	int (*lookup_open)(kernstash_device *device, const char *program, kernstash_lookup **lookup);
	int (*lookup_context)(kernstash_lookup *lookup, const void *data, size_t size);
	int (*lookup_source)(kernstash_lookup *lookup, const char *text, size_t size);
	int (*lookup_library)(kernstash_lookup *lookup, const char *name, const char *version);
	int (*lookup_int)(kernstash_lookup *lookup, int64_t value);
	int (*lookup_double)(kernstash_lookup *lookup, double value);
	int (*lookup_string)(kernstash_lookup *lookup, const char *value);
	int (*lookup_bytes)(kernstash_lookup *lookup, const void *data, size_t size);
	int (*lookup_options)(kernstash_lookup *lookup, const char *options);
	int (*lookup_found)(kernstash_lookup *lookup);
	int (*lookup_binary)(const kernstash_lookup *lookup, const void **data, size_t *size);
	int (*lookup_artifact)(const kernstash_lookup *lookup, kernstash_artifact *artifact);
	int (*lookup_set)(kernstash_lookup *lookup, const void *data, size_t size);
	int (*lookup_set_artifact)(kernstash_lookup *lookup, const kernstash_artifact *artifact);
	int (*lookup_populate)(kernstash_lookup *lookup);
	int (*lookup_refused)(kernstash_lookup *lookup);
	int (*lookup_get_or_build)(kernstash_lookup *lookup, kernstash_build_fn build, void *user);
	int (*lookup_fail)(kernstash_lookup *lookup, int code, const char *log);
	int (*lookup_failure)(const kernstash_lookup *lookup, int *code, const char **log);
	void (*lookup_close)(kernstash_lookup *lookup);
} library;

static const struct {
	const char *name;
	void *at; /* a pointer to a function */
} symbols[] = {
	{"kernstash_strerror", &library.strerror},
	{"kernstash_detail", &library.detail},
	{"kernstash_version", &library.version},
	{"kernstash_open", &library.open},
	{"kernstash_flush", &library.flush},
	{"kernstash_close", &library.close},
	{"kernstash_stats", &library.stats},
	{"kernstash_counter", &library.counter},
	{"kernstash_device_open", &library.device_open},
	{"kernstash_device_opencl", &library.device_opencl},
	{"kernstash_device_directory", &library.device_directory},
	{"kernstash_device_close", &library.device_close},
	{"kernstash_lookup_open", &library.lookup_open},
	{"kernstash_lookup_context", &library.lookup_context},
	{"kernstash_lookup_source", &library.lookup_source},
	{"kernstash_lookup_library", &library.lookup_library},
	{"kernstash_lookup_int", &library.lookup_int},
	{"kernstash_lookup_double", &library.lookup_double},
	{"kernstash_lookup_string", &library.lookup_string},
	{"kernstash_lookup_bytes", &library.lookup_bytes},
	{"kernstash_lookup_options", &library.lookup_options},
	{"kernstash_lookup_found", &library.lookup_found},
	{"kernstash_lookup_binary", &library.lookup_binary},
	{"kernstash_lookup_artifact", &library.lookup_artifact},
	{"kernstash_lookup_set", &library.lookup_set},
	{"kernstash_lookup_set_artifact", &library.lookup_set_artifact},
	{"kernstash_lookup_populate", &library.lookup_populate},
	{"kernstash_lookup_refused", &library.lookup_refused},
	{"kernstash_lookup_get_or_build", &library.lookup_get_or_build},
	{"kernstash_lookup_fail", &library.lookup_fail},
	{"kernstash_lookup_failure", &library.lookup_failure},
	{"kernstash_lookup_close", &library.lookup_close},
};

static pthread_once_t once = PTHREAD_ONCE_INIT;
static int loaded;
static char reason[256];

/* Says whether the limit leaves room for the library. */
static int has_room(void)
{
	struct rlimit limit;
	unsigned long pages = 0;
	uint64_t used;
	FILE *f;

	if (getrlimit(RLIMIT_AS, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY)
		return 1;
	f = fopen("/proc/self/statm", "re");
	if (f == NULL)
		return 0;
	if (fscanf(f, "%lu", &pages) != 1)
		pages = 0;
	fclose(f);
	used = (uint64_t)pages * (uint64_t)sysconf(_SC_PAGESIZE);
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
	void *handle;

	if (getauxval(AT_SECURE) != 0) {
		strcpy(reason, "the program has rights beyond its user's");
		return;
	}
	if (switched_off()) {
		strcpy(reason, "KERNSTASH_DISABLE switches the cache off");
		return;
	}
	if (!has_room()) {
		strcpy(reason, "the limit of the address space (ulimit -v) leaves no room for the library");
		return;
	}
	handle = dlopen(KERNSTASH_STUB_LIBRARY, RTLD_NOW | RTLD_LOCAL);
	if (handle == NULL) {
		const char *why = dlerror();
		snprintf(reason, sizeof reason, "%s", why != NULL ? why : "not installed");
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

static int usable(void)
{
	return pthread_once(&once, load) == 0 && loaded;
}

const char *kernstash_version(void)
{
	return usable() ? library.version() : "";
}

const char *kernstash_strerror(int status)
{
	if (usable())
		return library.strerror(status);
	return status == KERNSTASH_OK ? "success" : "kernstash is not available in this process";
}

const char *kernstash_detail(void)
{
	return usable() ? library.detail() : reason;
}

int kernstash_open(const kernstash_options *options, kernstash_cache **cache)
{
	if (cache != NULL)
		*cache = NULL;
	return usable() ? library.open(options, cache) : KERNSTASH_UNAVAILABLE;
}

int kernstash_flush(kernstash_cache *cache, uint32_t milliseconds)
{
	return usable() ? library.flush(cache, milliseconds) : KERNSTASH_UNAVAILABLE;
}

int kernstash_close(kernstash_cache *cache)
{
	return usable() ? library.close(cache) : KERNSTASH_OK;
}

int kernstash_stats(kernstash_cache *cache, kernstash_statistics *statistics)
{
	return usable() ? library.stats(cache, statistics) : KERNSTASH_UNAVAILABLE;
}

int kernstash_counter(kernstash_cache *cache, const char *name, int64_t *value)
{
	return usable() ? library.counter(cache, name, value) : KERNSTASH_UNAVAILABLE;
}

int kernstash_device_open(kernstash_cache *cache, const kernstash_identity *identity, kernstash_device **device)
{
	if (device != NULL)
		*device = NULL;
	return usable() ? library.device_open(cache, identity, device) : KERNSTASH_UNAVAILABLE;
}

int kernstash_device_opencl(kernstash_cache *cache, void *cl_platform_id, void *cl_device_id, kernstash_device **device)
{
	if (device != NULL)
		*device = NULL;
	return usable() ? library.device_opencl(cache, cl_platform_id, cl_device_id, device) : KERNSTASH_UNAVAILABLE;
}

const char *kernstash_device_directory(const kernstash_device *device)
{
	return usable() ? library.device_directory(device) : "";
}

void kernstash_device_close(kernstash_device *device)
{
	if (usable())
		library.device_close(device);
}

int kernstash_lookup_open(kernstash_device *device, const char *program, kernstash_lookup **lookup)
{
	if (lookup != NULL)
		*lookup = NULL;
	return usable() ? library.lookup_open(device, program, lookup) : KERNSTASH_UNAVAILABLE;
}

int kernstash_lookup_context(kernstash_lookup *lookup, const void *data, size_t size)
{
	return usable() ? library.lookup_context(lookup, data, size) : KERNSTASH_UNAVAILABLE;
}

int kernstash_lookup_source(kernstash_lookup *lookup, const char *text, size_t size)
{
	return usable() ? library.lookup_source(lookup, text, size) : KERNSTASH_UNAVAILABLE;
}

int kernstash_lookup_library(kernstash_lookup *lookup, const char *name, const char *version)
{
	return usable() ? library.lookup_library(lookup, name, version) : KERNSTASH_UNAVAILABLE;
}

int kernstash_lookup_int(kernstash_lookup *lookup, int64_t value)
{
	return usable() ? library.lookup_int(lookup, value) : KERNSTASH_UNAVAILABLE;
}

int kernstash_lookup_double(kernstash_lookup *lookup, double value)
{
	return usable() ? library.lookup_double(lookup, value) : KERNSTASH_UNAVAILABLE;
}

int kernstash_lookup_string(kernstash_lookup *lookup, const char *value)
{
	return usable() ? library.lookup_string(lookup, value) : KERNSTASH_UNAVAILABLE;
}

int kernstash_lookup_bytes(kernstash_lookup *lookup, const void *data, size_t size)
{
	return usable() ? library.lookup_bytes(lookup, data, size) : KERNSTASH_UNAVAILABLE;
}

int kernstash_lookup_options(kernstash_lookup *lookup, const char *options)
{
	return usable() ? library.lookup_options(lookup, options) : KERNSTASH_UNAVAILABLE;
}

int kernstash_lookup_found(kernstash_lookup *lookup)
{
	return usable() ? library.lookup_found(lookup) : 0;
}

int kernstash_lookup_binary(const kernstash_lookup *lookup, const void **data, size_t *size)
{
	return usable() ? library.lookup_binary(lookup, data, size) : KERNSTASH_UNAVAILABLE;
}

int kernstash_lookup_artifact(const kernstash_lookup *lookup, kernstash_artifact *artifact)
{
	return usable() ? library.lookup_artifact(lookup, artifact) : KERNSTASH_UNAVAILABLE;
}

int kernstash_lookup_set(kernstash_lookup *lookup, const void *data, size_t size)
{
	return usable() ? library.lookup_set(lookup, data, size) : KERNSTASH_UNAVAILABLE;
}

int kernstash_lookup_set_artifact(kernstash_lookup *lookup, const kernstash_artifact *artifact)
{
	return usable() ? library.lookup_set_artifact(lookup, artifact) : KERNSTASH_UNAVAILABLE;
}

int kernstash_lookup_populate(kernstash_lookup *lookup)
{
	return usable() ? library.lookup_populate(lookup) : KERNSTASH_UNAVAILABLE;
}

int kernstash_lookup_refused(kernstash_lookup *lookup)
{
	return usable() ? library.lookup_refused(lookup) : KERNSTASH_UNAVAILABLE;
}

int kernstash_lookup_get_or_build(kernstash_lookup *lookup, kernstash_build_fn build, void *user)
{
	return usable() ? library.lookup_get_or_build(lookup, build, user) : KERNSTASH_UNAVAILABLE;
}

int kernstash_lookup_fail(kernstash_lookup *lookup, int code, const char *log)
{
	return usable() ? library.lookup_fail(lookup, code, log) : KERNSTASH_UNAVAILABLE;
}

int kernstash_lookup_failure(const kernstash_lookup *lookup, int *code, const char **log)
{
	return usable() ? library.lookup_failure(lookup, code, log) : KERNSTASH_UNAVAILABLE;
}

void kernstash_lookup_close(kernstash_lookup *lookup)
{
	if (usable())
		library.lookup_close(lookup);
}
