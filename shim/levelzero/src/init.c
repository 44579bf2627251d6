/*
 * init.c: zeInit and zeInitDrivers, which load the drivers.
 */
#include "shim.h"

#include <pthread.h>

static void tell(void)
{
	const char *reason;
	if (library_unwanted(&reason))
		report("out", "reason", reason);
	else
		report("loaded", "door", "levelzero");
}

static void begin(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	lz_environment_note();
	pthread_once(&once, tell);
}

ze_result_t ks_zeInit(uint32_t flags)
{
	const struct behind *b = lz_behind();
	begin();
	return b->zeInit == NULL ? ZE_RESULT_ERROR_UNINITIALIZED : b->zeInit(flags);
}

ze_result_t ks_zeInitDrivers(uint32_t *count, void *drivers, void *desc)
{
	const struct behind *b = lz_behind();
	begin();
	return b->zeInitDrivers == NULL ? ZE_RESULT_ERROR_UNINITIALIZED : b->zeInitDrivers(count, drivers, desc);
}
