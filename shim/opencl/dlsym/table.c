/*
 * table.c: the table for shim/preload. The functions are the OpenCL layer's (shim/opencl), which decides about each
 * library; it is opened at the first name that is asked for.
 *
 * OpenCL's own libraries ask for these names too: a loader in its drivers, a wrapper in the loader. They get what
 * there is, or we would stand between them, where no program of the application's is.
 */
#include "../../library/library.h"
#include "../../preload/preload.h"
#include "../functions.h"
#include "../layers.h"

#include <dlfcn.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const names[] = {
#define NAME(name) #name,
	EACH_FUNCTION(NAME)
	/* Nobody stands before it, but with it the layer is in the process: a cache of the
	 * application's own looks for that (gpu/opencl). */
	"clGetPlatformIDs",
};

/* The layer's function; it is there already where the layer is preloaded. */
typedef void *(*take_fn)(const char *name, void *real);
extern void *kernstash_layer_take(const char *name, void *real) __attribute__((weak, visibility("default")));

/* In the layer that lies beside us. */
static take_fn open_layer(void)
{
	static const char here;
	char path[PATH_MAX];
	Dl_info us;
	take_fn found = NULL;
	if (dladdr(&here, &us) == 0 || us.dli_fname == NULL)
		return NULL;
	int folder = (int)(basename(us.dli_fname) - us.dli_fname);
	snprintf(path, sizeof(path), "%.*s" LAYER_FILE, folder, us.dli_fname);
	void *layer = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	if (layer != NULL)
		*(void **)&found = preload_find(layer, "kernstash_layer_take");
	return found;
}

/* Threads may open it at the same time, and find the same. */
static take_fn layer(void)
{
	static take_fn found;
	static bool none;
	if (kernstash_layer_take != NULL)
		return kernstash_layer_take;
	take_fn f = __atomic_load_n(&found, __ATOMIC_ACQUIRE);
	if (f == NULL && !__atomic_load_n(&none, __ATOMIC_RELAXED)) {
		f = open_layer();
		__atomic_store_n(&found, f, __ATOMIC_RELEASE);
		__atomic_store_n(&none, f == NULL, __ATOMIC_RELAXED);
	}
	return f;
}

static void *take(size_t name, void *real)
{
	const char *inject = secure_getenv("KERNSTASH_INJECT");
	take_fn f = inject == NULL || *inject == 0 ? NULL : layer();
	return f == NULL ? real : f(names[name], real);
}

/* The layer's, too. */
extern void kernstash_layer_looks(void) __attribute__((weak, visibility("default")));

/* Whether it is a library of OpenCL: it exports such names itself. A loader that asks has just loaded a driver. */
static bool spares(const void *caller)
{
	static const char *const its[] = {"clBuildProgram", "clGetExtensionFunctionAddress", "clIcdGetPlatformIDsKHR", "clInitLayer"};
	enum { N = sizeof(its) / sizeof(*its) };
	void *found[N];
	if (kernstash_layer_looks != NULL)
		kernstash_layer_looks();
	preload_beside(caller, its, N, found);
	for (int i = 0; i < N; i++)
		if (found[i] != NULL && same_object(found[i], caller))
			return true;
	return false;
}

const struct preload_table opencl_table = {.prefix = "cl", .names = names, .n = sizeof(names) / sizeof(*names), .take = take, .spares = spares};
