/* table.c: how the shim gets between: what it tells shim/preload, the functions that programs find which are linked
 * to the loader, and the functions behind us. */
#include "shim.h"

#include <dlfcn.h>
#include <pthread.h>
#include <unistd.h>

#include "../../preload/preload.h"

#define NAME(name, parameters, arguments) #name,
#define POINTER(name, parameters, arguments) (void *)ks_##name,

/* In the order of struct behind. */
static const char *const behind_names[] = {
	EACH_OF_MODULES(NAME)
	EACH_OF_OTHERS(NAME)
	/* The queries, in the order in which the library takes them. */
	"zeDriverGet", "zeDeviceGet", "zeDeviceGetSubDevices",
	"zeDriverGetProperties", "zeDriverGetApiVersion", "zeDriverGetExtensionProperties",
	"zeDeviceGetProperties",
	"zeDeviceGetModuleProperties", "zeDeviceGetComputeProperties", "zeDevicePciGetPropertiesExt",
};

enum { BEHIND = sizeof(behind_names) / sizeof(*behind_names), NEEDED = BEHIND - 3 }; /* loaders may lack the last */

static union {
	struct behind named;
	void *all[BEHIND];
} found;

_Static_assert(sizeof(found.named) == sizeof(found.all), "a name for each function");

static const void *_Atomic first; /* that was asked about */

static void find_all(void)
{
	preload_beside(atomic_load(&first), behind_names, BEHIND, found.all);
	/* Another one who stands before the loader, behind us, may have a few of them alone. */
	bool next = found.all[0] != NULL && preload_find(RTLD_NEXT, behind_names[0]) == found.all[0];
	for (int i = 0; next && i < BEHIND; i++)
		if (found.all[i] == NULL)
			found.all[i] = preload_find(RTLD_NEXT, behind_names[i]);
}

/* Whether a function is the one behind us of an index in EACH_OF_MODULES. The first that is asked about
 * makes its loader the one that all are of; another one in the same process goes without. */
static bool is_behind(size_t index, const void *function)
{
	/* Once, and not under a lock: a child of a fork finds them anew where its parent was about to. */
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

/* zeInit and zeInitDrivers, which load the drivers. Each may be of somebody else than the functions
 * for modules: there may be others between us and the loader. */
#define INDEX(name, parameters, arguments) name##_at,
enum { EACH_OF_INIT(INDEX) INITS };
static void *_Atomic init_behind[INITS];

/* Whether a function is the zeInit, or the zeInitDrivers, that ours calls: the first is. */
static bool is_init_behind(size_t index, void *function)
{
	void *known = NULL;
	return atomic_compare_exchange_strong(&init_behind[index], &known, function) || known == function;
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
	const char *unwanted = library_unwanted();
	note_environment();
	if (unwanted != NULL)
		report("out", "reason", unwanted);
	else
		report("loaded", "front_end", "levelzero");
}

static void *begin(size_t index)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	library_look();
	pthread_once(&once, start);
	return atomic_load(&init_behind[index]);
}

#define BEGINS(name, parameters, arguments) \
	ze_result_t ks_##name parameters \
	{ \
		ze_result_t(*f) parameters; \
		*(void **)&f = begin(name##_at); \
		return f arguments; \
	}
EACH_OF_INIT(BEGINS)

static const char *const names[] = {EACH_OF_INIT(NAME) EACH_OF_MODULES(NAME)};
enum { NAMES = sizeof(names) / sizeof(*names) };

static void *const ours[] = {EACH_OF_INIT(POINTER) EACH_OF_MODULES(POINTER)};

/* Ours is given only where it has something to call. */
static void *take(size_t name, void *real)
{
	bool behind_us = name < INITS ? is_init_behind(name, real) : is_behind(name - INITS, real);
	return behind_us ? ours[name] : real;
}

const struct preload_table levelzero_table = {.prefix = "ze", .names = names, .n = NAMES, .take = take};

/* What the caller would have called, ours in its place where that serves it. */
static void *chosen(const void *function, const void *caller)
{
	size_t name = 0;
	while (ours[name] != function)
		name++;
	void *real = preload_behind(caller, names[name]);
	return real == NULL ? NULL : take(name, real);
}

#define STANDS(name, parameters, arguments) \
	EXPORT ze_result_t name parameters \
	{ \
		ze_result_t(*f) parameters; \
		*(void **)&f = chosen((void *)ks_##name, __builtin_return_address(0)); \
		return f == NULL ? ZE_RESULT_ERROR_UNINITIALIZED : f arguments; \
	}

/* zeInitDrivers is not among these: loaders before 1.19 have none, and a program may ask whether there is one. */
STANDS(zeInit, (uint32_t flags), (flags))
EACH_OF_MODULES(STANDS)
