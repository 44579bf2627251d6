/*
 * shim.h: what the parts of the shim say to each other.
 */
#ifndef KERNSTASH_LEVELZERO_SHIM_H
#define KERNSTASH_LEVELZERO_SHIM_H

#include <stdbool.h>

#include "../../library/library.h"
#include "ze.h"

#define EXPORT __attribute__((visibility("default")))

/* ---- What stands before (init.c, module.c, otherwise.c) ---------------- */

/* The functions of modules that are stood before: name, parameters, arguments. */
#define EACH_OF_MODULES(F) \
	F(zeModuleCreate, \
		(ze_context_handle_t context, ze_device_handle_t device, const ze_module_desc_t *desc, ze_module_handle_t *module, \
			ze_module_build_log_handle_t *log), \
		(context, device, desc, module, log)) \
	F(zeModuleDestroy, (ze_module_handle_t module), (module)) \
	F(zeModuleGetGlobalPointer, (ze_module_handle_t module, const char *name, size_t *size, void **at), (module, name, size, at)) \
	F(zeModuleGetFunctionPointer, (ze_module_handle_t module, const char *name, void **at), (module, name, at)) \
	F(zeModuleBuildLogGetString, (ze_module_build_log_handle_t log, size_t *size, char *text), (log, size, text)) \
	F(zeModuleBuildLogDestroy, (ze_module_build_log_handle_t log), (log))

/* Those that load the drivers. */
#define EACH_OF_INIT(F) \
	F(zeInit, (uint32_t flags), (flags)) \
	F(zeInitDrivers, (uint32_t *count, void *drivers, void *desc), (count, drivers, desc))

#define OURS(name, parameters, arguments) ze_result_t ks_##name parameters;
EACH_OF_MODULES(OURS)
EACH_OF_INIT(OURS)
#undef OURS

/* Makes a function the zeInit, or the zeInitDrivers, that ours calls. False: it is another
 * one already. */
bool lz_init_behind(bool drivers, void *function);

/* ---- Behind us (behind.c) ---------------------------------------------- */

enum { LZ_QUERIES = 10 };

struct behind {
#define MEMBER(name, parameters, arguments) ze_result_t (*name) parameters;
	EACH_OF_MODULES(MEMBER)
#undef MEMBER
	ze_result_t (*zeModuleGetNativeBinary)(ze_module_handle_t, size_t *, uint8_t *);
	ze_result_t (*zeModuleGetKernelNames)(ze_module_handle_t, uint32_t *, const char **);
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

/* ---- Modules and logs that say something else (otherwise.c) ------------ */

struct lz_unknown {
	ze_result_t global, function; /* with what names are refused that a module has not; 0: not known */
};

struct lz_unknown lz_unknown_of(ze_module_handle_t module);

/* Has a module refuse them so from now on. False: no memory. */
bool lz_unknown_becomes(ze_module_handle_t module, struct lz_unknown was);

/* What a log says, in memory to be freed; NULL: nothing, or no memory. size is without
 * the NUL at its end. */
char *lz_log_text(ze_module_build_log_handle_t log, size_t *size);

/* Has a log say something else from now on, unless it says so by itself. False: no
 * memory. */
bool lz_log_says(ze_module_build_log_handle_t log, const void *text, size_t size);

/* Has a module or a log say what it says by itself. */
void lz_forget(const void *handle);

#endif
