/*
 * init.c: zeInit and zeInitDrivers, which load the drivers. Each may be of somebody else
 * than the functions for modules: there may be others between us and the loader.
 */
#include "shim.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void *_Atomic behind[2]; /* zeInit, zeInitDrivers */

bool lz_init_behind(bool drivers, void *function)
{
	void *known = NULL;
	return atomic_compare_exchange_strong(&behind[drivers], &known, function) || known == function;
}

static char **_Atomic environment;

const char *const *lz_environment(void) { return (const char *const *)atomic_load(&environment); }

/* Copies the environment. The copy is never freed. */
static void note_environment(void)
{
	size_t n = 0;
	while (environ != NULL && environ[n] != NULL)
		n++;
	char **own = calloc(n + 1, sizeof(*own));
	for (size_t i = 0; own != NULL && i < n; i++)
		if ((own[i] = strdup(environ[i])) == NULL)
			return;
	atomic_store(&environment, own);
}

/* The drivers are about to be loaded. */
static void start(void)
{
	const char *reason;
	note_environment();
	if (library_unwanted(&reason))
		report("out", "reason", reason);
	else
		report("loaded", "front_end", "levelzero");
}

static void *begin(bool drivers)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	library_look();
	pthread_once(&once, start);
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
