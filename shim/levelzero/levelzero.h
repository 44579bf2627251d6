/*
 * levelzero.h: what stands between an application and Level Zero's loader, for whoever
 * puts it there (alone/preload.c, and shim/preload).
 */
#ifndef KERNSTASH_SHIM_LEVELZERO_H
#define KERNSTASH_SHIM_LEVELZERO_H

#include "src/ze.h"

/* The functions that are stood before. The names are those of the API with ks_. */
ze_result_t ks_zeInit(uint32_t flags);
ze_result_t ks_zeInitDrivers(uint32_t *count, void *drivers, void *desc);
ze_result_t ks_zeModuleCreate(ze_context_handle_t context, ze_device_handle_t device, const ze_module_desc_t *desc,
	ze_module_handle_t *module, ze_module_build_log_handle_t *log);
ze_result_t ks_zeModuleBuildLogGetString(ze_module_build_log_handle_t log, size_t *size, char *text);
ze_result_t ks_zeModuleBuildLogDestroy(ze_module_build_log_handle_t log);

/* Says where the functions behind us are: find returns the address of one by its name, or
 * NULL. It is called at the first use of any. Without this they are looked for behind us,
 * and in the loader if it is open. The first caller's counts. */
void levelzero_behind(void *(*find)(const char *name));

/* While on, modules that this thread makes are nobody's business but the driver's: the
 * caller is a cache itself. Exported. */
void kernstash_levelzero_aside(int on);

#endif
