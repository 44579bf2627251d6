/*
 * preload.c: the shim by itself, LD_PRELOAD: the functions of the API are exported, and
 * stand before those of the loader.
 */
#include "../src/shim.h"

EXPORT ze_result_t zeInit(uint32_t flags) { return ks_zeInit(flags); }

EXPORT ze_result_t zeInitDrivers(uint32_t *count, void *drivers, void *desc) { return ks_zeInitDrivers(count, drivers, desc); }

EXPORT ze_result_t zeModuleCreate(ze_context_handle_t context, ze_device_handle_t device, const ze_module_desc_t *desc,
	ze_module_handle_t *module, ze_module_build_log_handle_t *log)
{
	return ks_zeModuleCreate(context, device, desc, module, log);
}

EXPORT ze_result_t zeModuleBuildLogGetString(ze_module_build_log_handle_t log, size_t *size, char *text)
{
	return ks_zeModuleBuildLogGetString(log, size, text);
}

EXPORT ze_result_t zeModuleBuildLogDestroy(ze_module_build_log_handle_t log) { return ks_zeModuleBuildLogDestroy(log); }
