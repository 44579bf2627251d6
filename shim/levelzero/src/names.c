/*
 * names.c: what a module says of names that it has not. Of native code some drivers say
 * that there is no such name where they say of SPIR-V that was built without the flags for
 * it that they do not support that (NEO 26.27; 22.43 does not). Such modules are known
 * here, and say what they would have said.
 */
#include "shim.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

struct renamed {
	struct renamed *next;
	ze_module_handle_t module;
	struct lz_unknown is, was; /* what the driver says, and what it is to say */
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct renamed *first;
static atomic_int count; /* of the list, so that most calls take no lock */

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
	struct renamed *r = malloc(sizeof(*r));
	if (r == NULL)
		return false;
	r->module = module;
	r->is = is;
	r->was = was;
	pthread_mutex_lock(&lock);
	r->next = first;
	first = r;
	atomic_fetch_add(&count, 1);
	pthread_mutex_unlock(&lock);
	return true;
}

/* The place in the list that points to a module's; the caller holds the lock. */
static struct renamed **find(ze_module_handle_t module)
{
	struct renamed **at = &first;
	while (*at != NULL && (*at)->module != module)
		at = &(*at)->next;
	return at;
}

static ze_result_t translate(ze_module_handle_t module, ze_result_t result, bool function)
{
	if (result == ZE_RESULT_SUCCESS || atomic_load(&count) == 0)
		return result;
	pthread_mutex_lock(&lock);
	const struct renamed *r = *find(module);
	if (r != NULL && !function && result == r->is.global && r->was.global != 0)
		result = r->was.global;
	else if (r != NULL && function && result == r->is.function && r->was.function != 0)
		result = r->was.function;
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

void lz_unknown_forget(ze_module_handle_t module)
{
	if (atomic_load(&count) == 0)
		return;
	pthread_mutex_lock(&lock);
	struct renamed **at = find(module), *r = *at;
	if (r != NULL) {
		*at = r->next;
		atomic_fetch_sub(&count, 1);
		free(r);
	}
	pthread_mutex_unlock(&lock);
}

ze_result_t ks_zeModuleDestroy(ze_module_handle_t module)
{
	const struct behind *b = lz_behind();
	lz_unknown_forget(module);
	return b->zeModuleDestroy == NULL ? ZE_RESULT_ERROR_UNINITIALIZED : b->zeModuleDestroy(module);
}
