/*
 * init.c: zeInit and zeInitDrivers, which load the drivers. Each may be of somebody else
 * than the functions for modules: there may be others between us and the loader.
 */
#include "shim.h"

#include <pthread.h>
#include <stdatomic.h>

static void *_Atomic behind[2]; /* zeInit, zeInitDrivers */

bool lz_init_behind(bool drivers, void *function)
{
	void *known = NULL;
	return atomic_compare_exchange_strong(&behind[drivers], &known, function) || known == function;
}

static void tell(void)
{
	const char *reason;
	if (library_unwanted(&reason))
		report("out", "reason", reason);
	else
		report("loaded", "door", "levelzero");
}

static void *begin(bool drivers)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	lz_environment_note();
	library_look();
	pthread_once(&once, tell);
	return atomic_load(&behind[drivers]);
}

ze_result_t ks_zeInit(uint32_t flags)
{
	ze_result_t (*f)(uint32_t);
	*(void **)&f = begin(false);
	return f == NULL ? ZE_RESULT_ERROR_UNINITIALIZED : f(flags);
}

ze_result_t ks_zeInitDrivers(uint32_t *count, void *drivers, void *desc)
{
	ze_result_t (*f)(uint32_t *, void *, void *);
	*(void **)&f = begin(true);
	return f == NULL ? ZE_RESULT_ERROR_UNINITIALIZED : f(count, drivers, desc);
}
