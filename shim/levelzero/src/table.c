/*
 * table.c: how the shim gets between: what it tells shim/preload, and the functions that
 * programs find which are linked to the loader.
 *
 * zeInitDrivers is not among these: loaders before 1.19 have none, and a program may ask
 * whether there is one.
 */
#include "shim.h"

#include "../../preload/preload.h"

enum { INIT, INIT_DRIVERS, MODULE_CREATE, MODULE_DESTROY, GLOBAL_POINTER, FUNCTION_POINTER, LOG_GET_STRING, LOG_DESTROY };

static const char *const names[] = {
	[INIT] = "zeInit",
	[INIT_DRIVERS] = "zeInitDrivers",
	[MODULE_CREATE] = "zeModuleCreate",
	[MODULE_DESTROY] = "zeModuleDestroy",
	[GLOBAL_POINTER] = "zeModuleGetGlobalPointer",
	[FUNCTION_POINTER] = "zeModuleGetFunctionPointer",
	[LOG_GET_STRING] = "zeModuleBuildLogGetString",
	[LOG_DESTROY] = "zeModuleBuildLogDestroy",
	NULL,
};

static void *ours(size_t name)
{
	void *function = NULL;
	switch (name) {
	case INIT:
		*(ze_result_t (**)(uint32_t))&function = ks_zeInit;
		break;
	case INIT_DRIVERS:
		*(ze_result_t (**)(uint32_t *, void *, void *))&function = ks_zeInitDrivers;
		break;
	case MODULE_CREATE:
		*(ze_result_t (**)(ze_context_handle_t, ze_device_handle_t, const ze_module_desc_t *, ze_module_handle_t *,
			ze_module_build_log_handle_t *))&function = ks_zeModuleCreate;
		break;
	case MODULE_DESTROY:
		*(ze_result_t (**)(ze_module_handle_t))&function = ks_zeModuleDestroy;
		break;
	case GLOBAL_POINTER:
		*(ze_result_t (**)(ze_module_handle_t, const char *, size_t *, void **))&function = ks_zeModuleGetGlobalPointer;
		break;
	case FUNCTION_POINTER:
		*(ze_result_t (**)(ze_module_handle_t, const char *, void **))&function = ks_zeModuleGetFunctionPointer;
		break;
	case LOG_GET_STRING:
		*(ze_result_t (**)(ze_module_build_log_handle_t, size_t *, char *))&function = ks_zeModuleBuildLogGetString;
		break;
	case LOG_DESTROY:
		*(ze_result_t (**)(ze_module_build_log_handle_t))&function = ks_zeModuleBuildLogDestroy;
		break;
	}
	return function;
}

/* Whether a function is that of the loader that is behind us. The first that is asked
 * about makes its loader that; another one in the same process goes without. */
static bool is_behind(size_t name, void *real)
{
	if (name == INIT || name == INIT_DRIVERS)
		return lz_init_behind(name == INIT_DRIVERS, real);
	const struct behind *b = lz_behind_beside(real);
	switch (name) {
	case MODULE_CREATE:
		return real == *(void *const *)&b->zeModuleCreate;
	case MODULE_DESTROY:
		return real == *(void *const *)&b->zeModuleDestroy;
	case GLOBAL_POINTER:
		return real == *(void *const *)&b->zeModuleGetGlobalPointer;
	case FUNCTION_POINTER:
		return real == *(void *const *)&b->zeModuleGetFunctionPointer;
	case LOG_GET_STRING:
		return real == *(void *const *)&b->zeModuleBuildLogGetString;
	case LOG_DESTROY:
		return real == *(void *const *)&b->zeModuleBuildLogDestroy;
	}
	return false;
}

static void *take(size_t name, void *real) { return is_behind(name, real) ? ours(name) : real; }

const struct preload_table levelzero_table = {.names = names, .take = take};

/* What the caller would have called, ours in its place where that serves it. */
static void *chosen(size_t name, const void *caller)
{
	void *real = preload_behind(caller, names[name]);
	return real == NULL ? NULL : take(name, real);
}

EXPORT ze_result_t zeInit(uint32_t flags)
{
	ze_result_t (*f)(uint32_t);
	*(void **)&f = chosen(INIT, __builtin_return_address(0));
	return f == NULL ? ZE_RESULT_ERROR_UNINITIALIZED : f(flags);
}

EXPORT ze_result_t zeModuleCreate(ze_context_handle_t context, ze_device_handle_t device, const ze_module_desc_t *desc,
	ze_module_handle_t *module, ze_module_build_log_handle_t *log)
{
	ze_result_t (*f)(ze_context_handle_t, ze_device_handle_t, const ze_module_desc_t *, ze_module_handle_t *,
		ze_module_build_log_handle_t *);
	*(void **)&f = chosen(MODULE_CREATE, __builtin_return_address(0));
	return f == NULL ? ZE_RESULT_ERROR_UNINITIALIZED : f(context, device, desc, module, log);
}

EXPORT ze_result_t zeModuleDestroy(ze_module_handle_t module)
{
	ze_result_t (*f)(ze_module_handle_t);
	*(void **)&f = chosen(MODULE_DESTROY, __builtin_return_address(0));
	return f == NULL ? ZE_RESULT_ERROR_UNINITIALIZED : f(module);
}

EXPORT ze_result_t zeModuleGetGlobalPointer(ze_module_handle_t module, const char *name, size_t *size, void **at)
{
	ze_result_t (*f)(ze_module_handle_t, const char *, size_t *, void **);
	*(void **)&f = chosen(GLOBAL_POINTER, __builtin_return_address(0));
	return f == NULL ? ZE_RESULT_ERROR_UNINITIALIZED : f(module, name, size, at);
}

EXPORT ze_result_t zeModuleGetFunctionPointer(ze_module_handle_t module, const char *name, void **at)
{
	ze_result_t (*f)(ze_module_handle_t, const char *, void **);
	*(void **)&f = chosen(FUNCTION_POINTER, __builtin_return_address(0));
	return f == NULL ? ZE_RESULT_ERROR_UNINITIALIZED : f(module, name, at);
}

EXPORT ze_result_t zeModuleBuildLogGetString(ze_module_build_log_handle_t log, size_t *size, char *text)
{
	ze_result_t (*f)(ze_module_build_log_handle_t, size_t *, char *);
	*(void **)&f = chosen(LOG_GET_STRING, __builtin_return_address(0));
	return f == NULL ? ZE_RESULT_ERROR_UNINITIALIZED : f(log, size, text);
}

EXPORT ze_result_t zeModuleBuildLogDestroy(ze_module_build_log_handle_t log)
{
	ze_result_t (*f)(ze_module_build_log_handle_t);
	*(void **)&f = chosen(LOG_DESTROY, __builtin_return_address(0));
	return f == NULL ? ZE_RESULT_ERROR_UNINITIALIZED : f(log);
}
