/* shim.h: what the parts of the shim say to each other. */
#pragma once

#include <stdlib.h>
#include <string.h>

#include "../../library/library.h"
#include "ze.h"

/* ---- What stands before (table.c, module.c, otherwise.c) ---------------- */

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

/* A copy of the environment when the drivers were loaded; NULL: there is none. */
const char *const *lz_environment(void);

/* ---- Behind us (table.c) ---------------------------------------------- */

/* The functions of modules that are called besides. */
#define EACH_OF_OTHERS(F) \
	F(zeModuleGetNativeBinary, (ze_module_handle_t module, size_t *size, uint8_t *code), ) \
	F(zeModuleGetKernelNames, (ze_module_handle_t module, uint32_t *count, const char **names), )

enum { LZ_QUERIES = 10 };

struct behind {
#define MEMBER(name, parameters, arguments) ze_result_t (*name) parameters;
	EACH_OF_MODULES(MEMBER)
	EACH_OF_OTHERS(MEMBER)
#undef MEMBER
	void *queries[LZ_QUERIES]; /* with which the library asks what drivers and devices are */
};

/* The functions of the API behind us, once they are found; one that is not there is NULL. */
const struct behind *lz_behind(void);

/* Whether all are there that a module needs to be restored or taken. */
bool lz_whole(void);

/* ---- Modules and logs that say something else (otherwise.c) ------------ */

enum { LZ_GLOBAL, LZ_FUNCTION, LZ_KINDS }; /* what has names, as in KSF_UNKNOWN */

/* With what names are refused that a module has not. */
void lz_unknown_of(ze_module_handle_t module, ze_result_t results[LZ_KINDS]);

/* Has a module refuse them from now on as is stored. False: no memory. */
bool lz_unknown_becomes(ze_module_handle_t module, const ksf_message *stored);

/* What a log says, in memory to be freed; NULL: nothing, or no memory. size is without the NUL at its end. */
char *lz_log_text(ze_module_build_log_handle_t log, size_t *size);

/* Has a log say something else from now on, unless it says so by itself. False: no memory. */
bool lz_log_says(ze_module_build_log_handle_t log, const void *text, size_t size);

/* Has a module or a log say what it says by itself. */
void lz_forget(const void *handle);
