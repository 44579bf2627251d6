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

struct otherwise {
	struct otherwise *next;
	const void *handle;            /* of a module or a log */
	ze_result_t is[LZ_KINDS];      /* what the driver says of unknown names */
	ze_result_t becomes[LZ_KINDS]; /* what the module is to say; 0: the same */
	size_t size;                   /* of the log, without the NUL */
	char text[];
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct otherwise *first;
static atomic_int count; /* of the list, so that most calls take no lock */

/* Adds a copy of a record, with its text, to the list. False: no memory. */
static bool add(const struct otherwise *record, const void *text)
{
	struct otherwise *o = calloc(1, sizeof(*o) + record->size + 1);
	if (o == NULL)
		return false;
	*o = *record;
	if (o->size > 0)
		memcpy(o->text, text, o->size);
	pthread_mutex_lock(&lock);
	o->next = first;
	first = o;
	atomic_fetch_add(&count, 1);
	pthread_mutex_unlock(&lock);
	return true;
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

void lz_unknown_of(ze_module_handle_t module, ze_result_t results[LZ_KINDS])
{
	static const char name[] = "kernstash: no such name";
	size_t size = 0;
	void *at = NULL;
	results[LZ_GLOBAL] = lz_behind()->zeModuleGetGlobalPointer(module, name, &size, &at);
	results[LZ_FUNCTION] = lz_behind()->zeModuleGetFunctionPointer(module, name, &at);
}

bool lz_unknown_becomes(ze_module_handle_t module, const ksf_message *stored)
{
	struct otherwise o = {.handle = module};
	bool same = true;
	lz_unknown_of(module, o.is);
	for (uint32_t k = 0; k < LZ_KINDS; k++) {
		const ksf_field *f = message_find(stored, KSF_UNKNOWN, k);
		o.becomes[k] = f == NULL ? 0 : (ze_result_t)f->number;
		same = same && (o.becomes[k] == 0 || o.becomes[k] == o.is[k]);
	}
	return same || add(&o, NULL);
}

static ze_result_t translate(ze_module_handle_t module, ze_result_t result, int kind)
{
	if (result == ZE_RESULT_SUCCESS || atomic_load(&count) == 0)
		return result;
	pthread_mutex_lock(&lock);
	const struct otherwise *o = *find(module);
	if (o != NULL && result == o->is[kind] && o->becomes[kind] != 0)
		result = o->becomes[kind];
	pthread_mutex_unlock(&lock);
	return result;
}

ze_result_t ks_zeModuleGetGlobalPointer(ze_module_handle_t module, const char *name, size_t *size, void **at)
{
	return translate(module, lz_behind()->zeModuleGetGlobalPointer(module, name, size, at), LZ_GLOBAL);
}

ze_result_t ks_zeModuleGetFunctionPointer(ze_module_handle_t module, const char *name, void **at)
{
	return translate(module, lz_behind()->zeModuleGetFunctionPointer(module, name, at), LZ_FUNCTION);
}

ze_result_t ks_zeModuleDestroy(ze_module_handle_t module)
{
	lz_forget(module);
	return lz_behind()->zeModuleDestroy(module);
}

char *lz_log_text(ze_module_build_log_handle_t log, size_t *size)
{
	size_t n = 0;
	*size = 0;
	if (log == NULL || lz_behind()->zeModuleBuildLogGetString(log, &n, NULL) != ZE_RESULT_SUCCESS || n == 0)
		return NULL;
	char *text = malloc(n + 1);
	if (text == NULL || lz_behind()->zeModuleBuildLogGetString(log, &n, text) != ZE_RESULT_SUCCESS) {
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
	return same || add(&(struct otherwise){.handle = log, .size = size}, text);
}

ze_result_t ks_zeModuleBuildLogGetString(ze_module_build_log_handle_t log, size_t *size, char *text)
{
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
	return lz_behind()->zeModuleBuildLogGetString(log, size, text);
}

ze_result_t ks_zeModuleBuildLogDestroy(ze_module_build_log_handle_t log)
{
	lz_forget(log);
	return lz_behind()->zeModuleBuildLogDestroy(log);
}
