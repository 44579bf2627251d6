/*
 * behind.c: the functions behind us, all of one loader.
 */
#include "shim.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>

#include "../../preload/preload.h"

static struct behind found;

enum { NEEDED = 7 }; /* queries, the first of them; loaders may lack the others */

static void find_all(const void *function)
{
	struct {
		const char *name;
		void *to;
	} all[] = {
#define OWN(name, parameters, arguments) {#name, &found.name},
		EACH_OF_MODULES(OWN) /* zeModuleCreate is the first */
		OWN(zeModuleGetNativeBinary, , ) OWN(zeModuleGetKernelNames, , )
#undef OWN
		/* In the order in which the library takes them. */
		{"zeDriverGet", &found.queries[0]},
		{"zeDeviceGet", &found.queries[1]},
		{"zeDeviceGetSubDevices", &found.queries[2]},
		{"zeDriverGetProperties", &found.queries[3]},
		{"zeDriverGetApiVersion", &found.queries[4]},
		{"zeDriverGetExtensionProperties", &found.queries[5]},
		{"zeDeviceGetProperties", &found.queries[6]},
		{"zeDeviceGetModuleProperties", &found.queries[7]},
		{"zeDeviceGetComputeProperties", &found.queries[8]},
		{"zeDevicePciGetPropertiesExt", &found.queries[9]},
	};
	enum { N = sizeof(all) / sizeof(*all) };
	const char *names[N];
	void *functions[N];
	for (int i = 0; i < N; i++)
		names[i] = all[i].name;
	preload_beside(function, names, N, functions);
	/* Another one who stands before the loader, behind us, may have a few of them alone. */
	bool next = functions[0] != NULL && preload_find(RTLD_NEXT, names[0]) == functions[0];
	for (int i = 0; i < N; i++)
		*(void **)all[i].to = functions[i] == NULL && next ? preload_find(RTLD_NEXT, names[i]) : functions[i];
}

static const void *_Atomic first; /* that was asked about */

static void find_first(void) { find_all(atomic_load(&first)); }

const struct behind *lz_behind_beside(const void *function)
{
	/* Once, and not under a lock: a child of a fork finds them anew where its parent was
	 * about to. */
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	const void *none = NULL;
	atomic_compare_exchange_strong(&first, &none, function);
	pthread_once(&once, find_first);
	return &found;
}

const struct behind *lz_behind(void) { return &found; }

bool lz_whole(void)
{
	const struct behind *b = lz_behind();
	for (int i = 0; i < NEEDED; i++)
		if (b->queries[i] == NULL)
			return false;
#define IS_THERE(name, parameters, arguments) &&b->name != NULL
	return b->zeModuleGetNativeBinary != NULL && b->zeModuleGetKernelNames != NULL EACH_OF_MODULES(IS_THERE);
#undef IS_THERE
}
