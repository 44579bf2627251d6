/*
 * behind.c: the functions behind us, all of one loader.
 */
#include "shim.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>

#include "../../preload/preload.h"

/* In the order of struct behind. */
static const char *const names[] = {
#define NAME(name, parameters, arguments) #name,
	EACH_OF_MODULES(NAME)
	EACH_OF_OTHERS(NAME)
#undef NAME
	/* The queries, in the order in which the library takes them. */
	"zeDriverGet", "zeDeviceGet", "zeDeviceGetSubDevices",
	"zeDriverGetProperties", "zeDriverGetApiVersion", "zeDriverGetExtensionProperties",
	"zeDeviceGetProperties",
	"zeDeviceGetModuleProperties", "zeDeviceGetComputeProperties", "zeDevicePciGetPropertiesExt",
};

enum { N = sizeof(names) / sizeof(*names), NEEDED = N - 3 }; /* loaders may lack the last */

static union {
	struct behind named;
	void *all[N];
} found;

_Static_assert(sizeof(found.named) == sizeof(found.all), "a name for each function");

static const void *_Atomic first; /* that was asked about */

static void find_all(void)
{
	preload_beside(atomic_load(&first), names, N, found.all);
	/* Another one who stands before the loader, behind us, may have a few of them alone. */
	bool next = found.all[0] != NULL && preload_find(RTLD_NEXT, names[0]) == found.all[0];
	for (int i = 0; next && i < N; i++)
		if (found.all[i] == NULL)
			found.all[i] = preload_find(RTLD_NEXT, names[i]);
}

bool lz_is_behind(size_t index, const void *function)
{
	/* Once, and not under a lock: a child of a fork finds them anew where its parent was
	 * about to. */
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	const void *none = NULL;
	atomic_compare_exchange_strong(&first, &none, function);
	pthread_once(&once, find_all);
	return found.all[index] == function;
}

const struct behind *lz_behind(void) { return &found.named; }

bool lz_whole(void)
{
	for (int i = 0; i < NEEDED; i++)
		if (found.all[i] == NULL)
			return false;
	return true;
}
