/*
 * table.c: how the shim gets between: what it tells shim/preload, and the functions that
 * programs find which are linked to the loader.
 *
 * zeInitDrivers is not among these: loaders before 1.19 have none, and a program may ask
 * whether there is one.
 */
#include "shim.h"

#include "../../preload/preload.h"

#define NAME(name, parameters, arguments) #name,
static const char *const names[] = {EACH_OF_INIT(NAME) EACH_OF_MODULES(NAME)};
enum { NAMES = sizeof(names) / sizeof(*names), MODULES = 2 }; /* those of modules come after zeInit and zeInitDrivers */

#define POINTER(name, parameters, arguments) (void *)ks_##name,
static void *const ours[] = {EACH_OF_INIT(POINTER) EACH_OF_MODULES(POINTER)};

static void *take(size_t name, void *real)
{
	bool is_behind = name < MODULES ? lz_init_behind(name == 1, real) : lz_is_behind(name - MODULES, real);
	return is_behind ? ours[name] : real;
}

const struct preload_table levelzero_table = {.names = names, .n = NAMES, .take = take};

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

STANDS(zeInit, (uint32_t flags), (flags))
EACH_OF_MODULES(STANDS)
