/*
 * otherwise.c: modules and build logs that are to say something else than they do.
 *
 * Of names that a module has not some drivers say, of native code, that there is no such name,
 * where they say of SPIR-V that was built without the flags for it that they do not support
 * that (NEO 26.27; 22.43 does not). Such modules say what they would have said.
 *
 * A module that is restored has a log of its own, which lacks what the compiler said when the
 * module was built. Such a log is a driver's object as any other; only what it says is ours.
 */
#include "shim.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

struct otherwise {
	struct otherwise *next;
	const void *handle;        /* of a module or a log */
	struct lz_unknown is, was; /* what the driver says, and what the module is to say */
	size_t size;               /* of the log, without the NUL */
	char text[];
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct otherwise *first;
static atomic_int count; /* of the list, so that most calls take no lock */

/* A record with room for some text; NULL: no memory. */
static struct otherwise *record(const void *handle, size_t size)
{
	struct otherwise *o = calloc(1, sizeof(*o) + size + 1);
	if (o != NULL) {
		o->handle = handle;
		o->size = size;
	}
	return o;
}

static void list(struct otherwise *o)
{
	pthread_mutex_lock(&lock);
	o->next = first;
	first = o;
	atomic_fetch_add(&count, 1);
	pthread_mutex_unlock(&lock);
}

/* The place in the list that points to a handle's record; the caller holds the lock. */
static struct otherwise **find(const void *handle)
{
	struct otherwise **at = &first;
	while (*at != NULL && (*at)->handle != handle)
		at = &(*at)->next;
	return at;
}

void lz_forget(const void *handle)
{
	if (atomic_load(&count) == 0)
		return;
	pthread_mutex_lock(&lock);
	struct otherwise **at = find(handle), *o = *at;
	if (o != NULL) {
		*at = o->next;
		atomic_fetch_sub(&count, 1);
		free(o);
	}
	pthread_mutex_unlock(&lock);
}

struct lz_unknown lz_unknown_of(ze_module_handle_t module)
{
	static const char name[] = "kernstash: no such name";
	const struct behind *b = lz_behind();
	struct lz_unknown u;
	size_t size = 0;
	void *at = NULL;
	u.global = b->zeModuleGetGlobalPointer(module, name, &size, &at);
	u.function = b->zeModuleGetFunctionPointer(module, name, &at);
	return u;
}

bool lz_unknown_becomes(ze_module_handle_t module, struct lz_unknown was)
{
	struct lz_unknown is = lz_unknown_of(module);
	if ((was.global == 0 || was.global == is.global) && (was.function == 0 || was.function == is.function))
		return true;
	struct otherwise *o = record(module, 0);
	if (o == NULL)
		return false;
	o->is = is;
	o->was = was;
	list(o);
	return true;
}

static ze_result_t translate(ze_module_handle_t module, ze_result_t result, bool function)
{
	if (result == ZE_RESULT_SUCCESS || atomic_load(&count) == 0)
		return result;
	pthread_mutex_lock(&lock);
	const struct otherwise *o = *find(module);
	if (o != NULL && !function && result == o->is.global && o->was.global != 0)
		result = o->was.global;
	else if (o != NULL && function && result == o->is.function && o->was.function != 0)
		result = o->was.function;
	pthread_mutex_unlock(&lock);
	return result;
}

ze_result_t ks_zeModuleGetGlobalPointer(ze_module_handle_t module, const char *name, size_t *size, void **at)
{
	const struct behind *b = lz_behind();
	if (b->zeModuleGetGlobalPointer == NULL)
		return ZE_RESULT_ERROR_UNINITIALIZED;
	return translate(module, b->zeModuleGetGlobalPointer(module, name, size, at), false);
}

ze_result_t ks_zeModuleGetFunctionPointer(ze_module_handle_t module, const char *name, void **at)
{
	const struct behind *b = lz_behind();
	if (b->zeModuleGetFunctionPointer == NULL)
		return ZE_RESULT_ERROR_UNINITIALIZED;
	return translate(module, b->zeModuleGetFunctionPointer(module, name, at), true);
}

ze_result_t ks_zeModuleDestroy(ze_module_handle_t module)
{
	const struct behind *b = lz_behind();
	lz_forget(module);
	return b->zeModuleDestroy == NULL ? ZE_RESULT_ERROR_UNINITIALIZED : b->zeModuleDestroy(module);
}

char *lz_log_text(ze_module_build_log_handle_t log, size_t *size)
{
	const struct behind *b = lz_behind();
	size_t n = 0;
	*size = 0;
	if (log == NULL || b->zeModuleBuildLogGetString(log, &n, NULL) != ZE_RESULT_SUCCESS || n == 0)
		return NULL;
	char *text = malloc(n + 1);
	if (text == NULL)
		return NULL;
	if (b->zeModuleBuildLogGetString(log, &n, text) != ZE_RESULT_SUCCESS) {
		free(text);
		return NULL;
	}
	text[n] = 0;
	*size = strlen(text);
	return text;
}

bool lz_log_says(ze_module_build_log_handle_t log, const void *text, size_t size)
{
	size_t n;
	char *own = lz_log_text(log, &n);
	bool same = n == size && (n == 0 || memcmp(own, text, n) == 0);
	free(own);
	if (same)
		return true;
	struct otherwise *o = record(log, size);
	if (o == NULL)
		return false;
	if (size > 0)
		memcpy(o->text, text, size);
	list(o);
	return true;
}

ze_result_t ks_zeModuleBuildLogGetString(ze_module_build_log_handle_t log, size_t *size, char *text)
{
	const struct behind *b = lz_behind();
	if (size != NULL && atomic_load(&count) > 0) {
		pthread_mutex_lock(&lock);
		struct otherwise *o = *find(log);
		if (o != NULL) {
			if (text != NULL)
				memcpy(text, o->text, *size < o->size + 1 ? *size : o->size + 1);
			*size = o->size + 1;
		}
		pthread_mutex_unlock(&lock);
		if (o != NULL)
			return ZE_RESULT_SUCCESS;
	}
	return b->zeModuleBuildLogGetString == NULL ? ZE_RESULT_ERROR_UNINITIALIZED : b->zeModuleBuildLogGetString(log, size, text);
}

ze_result_t ks_zeModuleBuildLogDestroy(ze_module_build_log_handle_t log)
{
	const struct behind *b = lz_behind();
	lz_forget(log);
	return b->zeModuleBuildLogDestroy == NULL ? ZE_RESULT_ERROR_UNINITIALIZED : b->zeModuleBuildLogDestroy(log);
}
