/*
 * module.c: zeModuleCreate.
 */
#include "shim.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

/* What the application asked for. */
struct wanted {
	ze_context_handle_t context;
	ze_device_handle_t device;
	const ze_module_desc_t *desc;
	ze_module_handle_t *module;
	ze_module_build_log_handle_t *log; /* may be NULL */
	const char *flags;                 /* of the native code */
};

/* Has the driver make a module. What is known of a module and a log that were at the same
 * addresses is void: they may have ended unseen, by the loader's tables of functions. */
static ze_result_t create(const struct wanted *w, const ze_module_desc_t *desc, ze_module_handle_t *module,
	ze_module_build_log_handle_t *log)
{
	ze_result_t r = lz_behind()->zeModuleCreate(w->context, w->device, desc, module, log);
	bool built = r == ZE_RESULT_SUCCESS;
	if (built && module != NULL)
		lz_unknown_forget(*module);
	if ((built || r == ZE_RESULT_ERROR_MODULE_BUILD_FAILURE || r == ZE_RESULT_ERROR_MODULE_LINK_FAILURE) && log != NULL)
		lz_log_forget(*log);
	return r;
}

static ze_result_t pass(const struct wanted *w)
{
	const struct behind *b = lz_behind();
	if (b->zeModuleCreate == NULL)
		return ZE_RESULT_ERROR_UNINITIALIZED;
	library_compiles(true);
	ze_result_t r = create(w, w->desc, w->module, w->log);
	library_compiles(false);
	return r;
}

/* Only where somebody wants to know: the library is for those who build. */
static void passed(const char *reason)
{
	const char *file = getenv("KERNSTASH_REPORT");
	if (file != NULL && *file != 0)
		lz_passed(reason);
}

static bool same_text(const char *a, const char *b) { return strcmp(a != NULL ? a : "", b != NULL ? b : "") == 0; }

enum { MODULES_MOST = 256 };

/* Fills in a request of several modules. NULL, or why not. */
static const char *several(const ze_module_program_exp_desc_t *p, ksz_request *r, ksz_bytes *modules)
{
	if (p->pNext != NULL)
		return "extension";
	if (p->count < 2 || p->count > MODULES_MOST || p->inputSizes == NULL || p->pInputModules == NULL)
		return "a program of no module, of one, or of too many";
	for (uint32_t i = 0; i < p->count; i++) {
		if (p->pInputModules[i] == NULL || p->inputSizes[i] == 0)
			return "a module without code";
		if (p->pConstants != NULL && p->pConstants[i] != NULL && p->pConstants[i]->numConstants > 0)
			return "specialization constants of several modules";
		if (p->pBuildFlags != NULL && !same_text(p->pBuildFlags[i], p->pBuildFlags[0]))
			return "modules with flags of their own";
		modules[i].data = p->pInputModules[i];
		modules[i].size = p->inputSizes[i];
	}
	r->nmodules = p->count;
	r->flags = p->pBuildFlags == NULL ? NULL : p->pBuildFlags[0];
	return NULL;
}

/* Fills in a request. NULL, or why not; "" where the driver will say that it makes no
 * sense. */
static const char *describe(const ze_module_desc_t *d, ksz_request *r, ksz_bytes *modules)
{
	if (d->stype != ZE_STRUCTURE_TYPE_MODULE_DESC)
		return "";
	if (d->format == ZE_MODULE_FORMAT_NATIVE)
		return "binary";
	if (d->format != ZE_MODULE_FORMAT_IL_SPIRV)
		return "";
	if (d->pNext != NULL) {
		const ze_module_program_exp_desc_t *p = d->pNext;
		return p->stype == ZE_STRUCTURE_TYPE_MODULE_PROGRAM_EXP_DESC ? several(p, r, modules) : "extension";
	}
	if (d->pInputModule == NULL || d->inputSize == 0)
		return "";
	modules[0].data = d->pInputModule;
	modules[0].size = d->inputSize;
	r->nmodules = 1;
	r->flags = d->pBuildFlags;
	const ze_module_constants_t *c = d->pConstants;
	if (c != NULL && c->numConstants > 0) {
		if (c->pConstantIds == NULL || c->pConstantValues == NULL)
			return "";
		r->nconstants = c->numConstants;
		r->ids = c->pConstantIds;
		r->values = c->pConstantValues;
	}
	return NULL;
}

/* With the loader's validation layer an application wants to know what is wrong with what
 * it says, and not with what we say in its place. */
static bool is_validated(void)
{
	const char *on = getenv("ZE_ENABLE_VALIDATION_LAYER");
	return on != NULL && *on != 0 && strcmp(on, "0") != 0;
}

static uint64_t now(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* The names of a module's kernels, which are the module's; NULL: none, or they can not be
 * had, and then n is not 0. */
static const char **kernels(ze_module_handle_t module, uint32_t *n)
{
	const struct behind *b = lz_behind();
	const char **names;
	*n = 0;
	if (b->zeModuleGetKernelNames(module, n, NULL) != ZE_RESULT_SUCCESS) {
		*n = 1;
		return NULL;
	}
	if (*n == 0 || (names = calloc(*n, sizeof(*names))) == NULL)
		return NULL;
	if (b->zeModuleGetKernelNames(module, n, names) != ZE_RESULT_SUCCESS) {
		free(names);
		return NULL;
	}
	return names;
}

static bool has_kernels(ze_module_handle_t module, const ksz_reply *reply)
{
	uint32_t n;
	const char **names = kernels(module, &n);
	bool same = n == reply->nkernels && (n == 0 || names != NULL);
	for (uint32_t i = 0; same && i < n; i++) {
		const ksz_bytes *k = &reply->kernels[i];
		same = strlen(names[i]) == k->size && (k->size == 0 || memcmp(names[i], k->data, k->size) == 0);
	}
	free(names);
	return same;
}

static bool out_of_memory(ze_result_t r)
{
	return r == ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY || r == ZE_RESULT_ERROR_OUT_OF_DEVICE_MEMORY;
}

/* The C library takes a piece from the system for what is larger than any such piece that
 * was freed before, gives it back when it is freed, and the system clears it page by page
 * each time it is taken. A compiler has freed larger ones, and so has a driver that read
 * the code from a file: afterwards the driver's copies of it cost half as much. Nothing of
 * that has happened where we serve; so it is done here, without touching the piece. */
static void make_room(size_t size)
{
	enum { SMALL = 128 << 10, LARGE = 4 << 20, COPIES = 4 };
	if (size < SMALL || size > LARGE)
		return;
	void *volatile piece = malloc(COPIES * size);
	free(piece);
}

/* Makes the module of native code. The outcome says whether it is the application's. */
static void restore(const struct wanted *w, const ksz_reply *reply, ksz_outcome *outcome)
{
	const struct behind *b = lz_behind();
	ze_module_handle_t module = NULL;
	ze_module_build_log_handle_t log = NULL;
	const ze_module_desc_t desc = {
		.stype = ZE_STRUCTURE_TYPE_MODULE_DESC, .format = ZE_MODULE_FORMAT_NATIVE,
		.inputSize = reply->native.size, .pInputModule = reply->native.data, .pBuildFlags = w->flags,
	};
	make_room(reply->native.size);
	ze_result_t r = create(w, &desc, &module, w->log == NULL ? NULL : &log);
	if (r != ZE_RESULT_SUCCESS) {
		outcome->result = out_of_memory(r) ? KSZ_ABANDONED : KSZ_REFUSED;
		outcome->code = (int32_t)r;
	} else if (!has_kernels(module, reply)) {
		b->zeModuleDestroy(module);
		outcome->result = KSZ_REFUSED;
	} else if ((w->log != NULL && (log == NULL || !lz_log_says(log, reply->log.data, reply->log.size))) ||
		!lz_unknown_becomes(module, (struct lz_unknown){reply->unknown_global, reply->unknown_function})) {
		b->zeModuleDestroy(module);
		outcome->result = KSZ_ABANDONED;
	} else {
		*w->module = module;
		if (w->log != NULL)
			*w->log = log;
		outcome->result = KSZ_RESTORED;
		return;
	}
	if (log != NULL)
		ks_zeModuleBuildLogDestroy(log);
}

/* Takes the native code of a module; NULL: it can not be had. */
static void *native(ze_module_handle_t module, size_t *size)
{
	const struct behind *b = lz_behind();
	void *code;
	*size = 0;
	if (b->zeModuleGetNativeBinary(module, size, NULL) != ZE_RESULT_SUCCESS || *size == 0 || (code = malloc(*size)) == NULL)
		return NULL;
	if (b->zeModuleGetNativeBinary(module, size, code) != ZE_RESULT_SUCCESS) {
		free(code);
		return NULL;
	}
	return code;
}

/* What is read for the library, and freed after. */
struct taken {
	void *native;
	char *log;
	const char **kernels;
};

/* Has the driver build the module: what it returns is the application's. */
static ze_result_t build(const struct wanted *w, ksz_outcome *outcome, struct taken *taken)
{
	const struct behind *b = lz_behind();
	ze_module_build_log_handle_t log = NULL;
	uint64_t start = now();
	library_compiles(true);
	ze_result_t r = create(w, w->desc, w->module, &log);
	library_compiles(false);
	outcome->nanoseconds = now() - start;
	outcome->code = (int32_t)r;
	taken->log = lz_log_text(log, &outcome->log.size);
	outcome->log.data = taken->log;
	if (r == ZE_RESULT_SUCCESS) {
		taken->native = native(*w->module, &outcome->native.size);
		taken->kernels = kernels(*w->module, &outcome->nkernels);
		outcome->native.data = taken->native;
		outcome->kernels = taken->kernels;
		struct lz_unknown unknown = lz_unknown_of(*w->module);
		outcome->unknown_global = unknown.global;
		outcome->unknown_function = unknown.function;
		outcome->result = KSZ_BUILT;
		if (taken->native == NULL || (taken->kernels == NULL && outcome->nkernels > 0))
			outcome->result = KSZ_ABANDONED;
	} else if (r == ZE_RESULT_ERROR_MODULE_BUILD_FAILURE || r == ZE_RESULT_ERROR_MODULE_LINK_FAILURE) {
		outcome->result = KSZ_FAILED;
	} else {
		outcome->result = KSZ_ABANDONED;
	}
	if (log != NULL && w->log != NULL)
		*w->log = log;
	else if (log != NULL)
		b->zeModuleBuildLogDestroy(log);
	return r;
}

static ze_result_t serve(const ksz_api *a, const struct wanted *w, const ksz_request *request)
{
	ksz_reply reply;
	ze_result_t r;
	uint32_t action = lz_begin(a, request, &reply);
	uint64_t ticket = reply.ticket;
	if (action != KSZ_SERVE && action != KSZ_BUILD)
		return pass(w);
	if (action == KSZ_SERVE) {
		ksz_outcome outcome = {0};
		restore(w, &reply, &outcome);
		bool restored = outcome.result == KSZ_RESTORED;
		action = lz_next(a, ticket, &outcome, &reply);
		if (restored || action != KSZ_BUILD) {
			lz_end(a, ticket);
			return restored ? ZE_RESULT_SUCCESS : pass(w);
		}
	}
	ksz_outcome outcome = {0};
	struct taken taken = {0};
	r = build(w, &outcome, &taken);
	lz_next(a, ticket, &outcome, &reply);
	lz_end(a, ticket);
	free(taken.native);
	free(taken.log);
	free(taken.kernels);
	return r;
}

ze_result_t ks_zeModuleCreate(ze_context_handle_t context, ze_device_handle_t device, const ze_module_desc_t *desc,
	ze_module_handle_t *module, ze_module_build_log_handle_t *log)
{
	struct wanted w = {context, device, desc, module, log, NULL};
	ksz_bytes modules[MODULES_MOST];
	ksz_request request = {.size = sizeof(request), .device = device, .modules = modules};
	if (lz_stepped_aside() || context == NULL || device == NULL || desc == NULL || module == NULL || !lz_whole())
		return pass(&w);
	const char *reason = describe(desc, &request, modules);
	if (reason == NULL)
		reason = library_arithmetic();
	if (reason == NULL && is_validated())
		reason = "validation layer";
	if (reason != NULL) {
		if (*reason != 0)
			passed(reason);
		return pass(&w);
	}
	const ksz_api *a = lz_library();
	if (a == NULL)
		return pass(&w);
	request.queries = &lz_behind()->queries;
	request.environment = lz_environment_noted();
	request.directories = library_look();
	w.flags = request.flags;
	int cancel = library_uncancelled();
	ze_result_t r = serve(a, &w, &request);
	library_cancelled(cancel);
	return r;
}
