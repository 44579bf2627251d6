/*
 * shim.h: what the parts of the shim say to each other.
 */
#ifndef KERNSTASH_LEVELZERO_SHIM_H
#define KERNSTASH_LEVELZERO_SHIM_H

#include <stdbool.h>

#include "../../library/library.h"
#include "ze.h"

#define EXPORT __attribute__((visibility("default")))

/* ---- What stands before (init.c, module.c, names.c, log.c) ------------- */

/* Makes a function the zeInit, or the zeInitDrivers, that ours calls. False: it is another
 * one already. */
bool lz_init_behind(bool drivers, void *function);
ze_result_t ks_zeInit(uint32_t flags);
ze_result_t ks_zeInitDrivers(uint32_t *count, void *drivers, void *desc);
ze_result_t ks_zeModuleCreate(ze_context_handle_t context, ze_device_handle_t device, const ze_module_desc_t *desc,
	ze_module_handle_t *module, ze_module_build_log_handle_t *log);
ze_result_t ks_zeModuleDestroy(ze_module_handle_t module);
ze_result_t ks_zeModuleGetGlobalPointer(ze_module_handle_t module, const char *name, size_t *size, void **at);
ze_result_t ks_zeModuleGetFunctionPointer(ze_module_handle_t module, const char *name, void **at);
ze_result_t ks_zeModuleBuildLogGetString(ze_module_build_log_handle_t log, size_t *size, char *text);
ze_result_t ks_zeModuleBuildLogDestroy(ze_module_build_log_handle_t log);

/* ---- Behind us (behind.c) ---------------------------------------------- */

enum { LZ_QUERIES = 10 };

struct behind {
	ze_result_t (*zeModuleCreate)(ze_context_handle_t, ze_device_handle_t, const ze_module_desc_t *, ze_module_handle_t *,
		ze_module_build_log_handle_t *);
	ze_result_t (*zeModuleDestroy)(ze_module_handle_t);
	ze_result_t (*zeModuleBuildLogGetString)(ze_module_build_log_handle_t, size_t *, char *);
	ze_result_t (*zeModuleBuildLogDestroy)(ze_module_build_log_handle_t);
	ze_result_t (*zeModuleGetNativeBinary)(ze_module_handle_t, size_t *, uint8_t *);
	ze_result_t (*zeModuleGetKernelNames)(ze_module_handle_t, uint32_t *, const char **);
	ze_result_t (*zeModuleGetGlobalPointer)(ze_module_handle_t, const char *, size_t *, void **);
	ze_result_t (*zeModuleGetFunctionPointer)(ze_module_handle_t, const char *, void **);
	void *queries[LZ_QUERIES]; /* with which the library asks what drivers and devices are */
};

/* The functions of the API behind us; one that is not there is NULL. They are those of the
 * loader that the first function asked about is of. */
const struct behind *lz_behind_beside(const void *function);
/* The same, once they are found: all are NULL before. */
const struct behind *lz_behind(void);

/* Whether all are there that a module needs to be restored or taken. */
bool lz_whole(void);

/* ---- The environment (environment.c) ----------------------------------- */

/* Copies it, once: the drivers are about to be loaded. */
void lz_environment_note(void);
/* The copy; NULL: there is none. */
const char *const *lz_environment_noted(void);

/* ---- Names that a module has not (names.c) ----------------------------- */

struct lz_unknown {
	ze_result_t global, function; /* with what they are refused; 0: not known */
};

struct lz_unknown lz_unknown_of(ze_module_handle_t module);

/* Has a module refuse them so from now on. False: no memory. */
bool lz_unknown_becomes(ze_module_handle_t module, struct lz_unknown was);
void lz_unknown_forget(ze_module_handle_t module); /* until now */

/* ---- Build logs (log.c) ------------------------------------------------ */

/* What a log says, in memory to be freed; NULL: nothing, or no memory. size is without
 * the NUL at its end. */
char *lz_log_text(ze_module_build_log_handle_t log, size_t *size);

/* Has a log say something else from now on, unless it says so by itself. False: no
 * memory. */
bool lz_log_says(ze_module_build_log_handle_t log, const void *text, size_t size);
void lz_log_forget(ze_module_build_log_handle_t log); /* until now */

#endif
