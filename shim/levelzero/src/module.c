/* module.c: zeModuleCreate. */
#include "shim.h"

static struct library_front front_end = {.runtime = "levelzero"};

static _Thread_local int own_call;

/* While on, modules that this thread makes are nobody's business but the driver's: the caller is a cache itself. */
EXPORT void kernstash_levelzero_aside(int on) { own_call = on; }

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
		lz_forget(*module);
	if ((built || r == ZE_RESULT_ERROR_MODULE_BUILD_FAILURE || r == ZE_RESULT_ERROR_MODULE_LINK_FAILURE) && log != NULL)
		lz_forget(*log);
	return r;
}

static ze_result_t pass(const struct wanted *w)
{
	library_compiles(true);
	ze_result_t r = create(w, w->desc, w->module, w->log);
	library_compiles(false);
	return r;
}

/* A binary only where somebody wants to know: the library is for those who build. The driver's compiler, which it hears of,
 * keeps the switches of its first call. */
static void passed(const char *reason)
{
	const char *file = getenv("KERNSTASH_REPORT");
	if (strcmp(reason, "binary") != 0 || (file != NULL && *file != 0))
		library_passed(&front_end, 0, reason);
}

static bool same_text(const char *a, const char *b) { return strcmp(a != NULL ? a : "", b != NULL ? b : "") == 0; }

enum { MODULES_MOST = 256 };

static void add_module(struct message *m, const void *code, size_t size)
{
	message_add(m, (ksf_field){.tag = KSF_CODE, .data = code, .size = size});
}

/* Fills in a request of several modules. NULL, or why not. */
static const char *several(const ze_module_program_exp_desc_t *p, struct message *m, const char **flags)
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
		add_module(m, p->pInputModules[i], p->inputSizes[i]);
	}
	*flags = p->pBuildFlags == NULL ? NULL : p->pBuildFlags[0];
	return NULL;
}

/* Fills in a request. NULL, or why not; "" where the driver will say that it makes no sense. */
static const char *describe(const ze_module_desc_t *d, struct message *m, const char **flags)
{
	if (d->stype != ZE_STRUCTURE_TYPE_MODULE_DESC)
		return "";
	if (d->format == ZE_MODULE_FORMAT_NATIVE)
		return "binary";
	if (d->format != ZE_MODULE_FORMAT_IL_SPIRV)
		return "";
	if (d->pNext != NULL) {
		const ze_module_program_exp_desc_t *p = d->pNext;
		return p->stype == ZE_STRUCTURE_TYPE_MODULE_PROGRAM_EXP_DESC ? several(p, m, flags) : "extension";
	}
	if (d->pInputModule == NULL || d->inputSize == 0)
		return "";
	add_module(m, d->pInputModule, d->inputSize);
	*flags = d->pBuildFlags;
	const ze_module_constants_t *c = d->pConstants;
	if (c != NULL && c->numConstants > 0) {
		if (c->pConstantIds == NULL || c->pConstantValues == NULL)
			return "";
		for (uint32_t i = 0; i < c->numConstants; i++)
			message_number(m, KSF_CONSTANT, c->pConstantIds[i], (uintptr_t)c->pConstantValues[i]);
	}
	return NULL;
}

/* With the loader's validation layer an application wants to know what is wrong with what it says, not with ours. */
static bool is_validated(void)
{
	const char *on = getenv("ZE_ENABLE_VALIDATION_LAYER");
	return on != NULL && *on != 0 && strcmp(on, "0") != 0;
}

/* The names of a module's kernels, which are the module's; NULL: none, or they can not be had, and then n is not 0. */
static const char **kernels(ze_module_handle_t module, uint32_t *n)
{
	*n = 0;
	if (lz_behind()->zeModuleGetKernelNames(module, n, NULL) != ZE_RESULT_SUCCESS) {
		*n = 1;
		return NULL;
	}
	if (*n == 0)
		return NULL;
	const char **names = calloc(*n, sizeof(*names));
	if (names == NULL || lz_behind()->zeModuleGetKernelNames(module, n, names) != ZE_RESULT_SUCCESS) {
		free(names);
		return NULL;
	}
	return names;
}

static bool has_kernels(ze_module_handle_t module, const ksf_message *stored)
{
	uint32_t n, i = 0;
	const char **names = kernels(module, &n);
	bool same = n == 0 || names != NULL;
	for (size_t f = 0; same && f < stored->count; f++) {
		const ksf_field *k = &stored->fields[f];
		if (k->tag != KSF_KERNEL)
			continue;
		same = i < n && strlen(names[i]) == k->size && (k->size == 0 || memcmp(names[i], k->data, k->size) == 0);
		i++;
	}
	free(names);
	return same && i == n;
}

/* The C library takes a piece from the system for what is larger than any such piece that was freed before, gives
 * it back when it is freed, and the system clears it page by page each time it is taken. A compiler has freed
 * larger ones, and so has a driver that read the code from a file: afterwards the driver's copies of it cost half
 * as much. Nothing of that has happened where we serve; so it is done here, without touching the piece. */
static void make_room(size_t size)
{
	enum { SMALL = 128 << 10, LARGE = 4 << 20, COPIES = 4 };
	if (size < SMALL || size > LARGE)
		return;
	void *volatile piece = malloc(COPIES * size);
	free(piece);
}

/* Makes the module of native code: KSF_RESTORED if it is the application's then. */
static uint32_t restore(const struct wanted *w, const ksf_message *stored, ze_result_t *code)
{
	const ksf_field *native = message_find(stored, KSF_BINARY, 0), *said = message_find(stored, KSF_LOG, 0);
	ze_module_handle_t module = NULL;
	ze_module_build_log_handle_t log = NULL;
	uint32_t result;
	if (native == NULL || said == NULL)
		return KSF_ABANDONED;
	const ze_module_desc_t desc = {
		.stype = ZE_STRUCTURE_TYPE_MODULE_DESC, .format = ZE_MODULE_FORMAT_NATIVE,
		.inputSize = native->size, .pInputModule = native->data, .pBuildFlags = w->flags,
	};
	make_room(native->size);
	ze_result_t r = create(w, &desc, &module, w->log == NULL ? NULL : &log);
	if (r != ZE_RESULT_SUCCESS) {
		bool out_of_memory = r == ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY || r == ZE_RESULT_ERROR_OUT_OF_DEVICE_MEMORY;
		result = out_of_memory ? KSF_ABANDONED : KSF_REFUSED;
		*code = r;
	} else if (!has_kernels(module, stored)) {
		lz_behind()->zeModuleDestroy(module);
		result = KSF_REFUSED;
	} else if ((w->log != NULL && (log == NULL || !lz_log_says(log, said->data, said->size))) ||
		!lz_unknown_becomes(module, stored)) {
		lz_behind()->zeModuleDestroy(module);
		result = KSF_ABANDONED;
	} else {
		*w->module = module;
		if (w->log != NULL)
			*w->log = log;
		return KSF_RESTORED;
	}
	if (log != NULL)
		ks_zeModuleBuildLogDestroy(log);
	return result;
}

/* Takes the native code of a module; NULL: it can not be had. */
static void *native(ze_module_handle_t module, size_t *size)
{
	*size = 0;
	if (lz_behind()->zeModuleGetNativeBinary(module, size, NULL) != ZE_RESULT_SUCCESS || *size == 0)
		return NULL;
	void *code = malloc(*size);
	if (code == NULL || lz_behind()->zeModuleGetNativeBinary(module, size, code) != ZE_RESULT_SUCCESS) {
		free(code);
		return NULL;
	}
	return code;
}

/* Adds what a module is. false: it can not be told. */
static bool gather(ze_module_handle_t module, struct message *m)
{
	size_t size;
	uint32_t n;
	void *code = message_own(m, native(module, &size));
	const char **names = kernels(module, &n);
	if (code == NULL || (n > 0 && message_own(m, names) == NULL))
		return false;
	message_add(m, (ksf_field){.tag = KSF_BINARY, .data = code, .size = size});
	for (uint32_t i = 0; i < n; i++)
		message_text(m, KSF_KERNEL, names[i]);
	ze_result_t unknown[LZ_KINDS];
	lz_unknown_of(module, unknown);
	for (uint32_t k = 0; k < LZ_KINDS; k++)
		message_number(m, KSF_UNKNOWN, k, unknown[k]);
	return !m->failed;
}

/* Has the driver build the module: what it returns is the application's. */
static ze_result_t build(const struct wanted *w, struct message *m)
{
	ze_module_build_log_handle_t log = NULL;
	uint32_t result = KSF_ABANDONED;
	size_t size;
	uint64_t start = nanoseconds();
	library_compiles(true);
	ze_result_t r = create(w, w->desc, w->module, &log);
	library_compiles(false);
	uint64_t took = nanoseconds() - start;
	char *said = lz_log_text(log, &size);
	if (r == ZE_RESULT_SUCCESS && gather(*w->module, m))
		result = KSF_BUILT;
	else if (r == ZE_RESULT_ERROR_MODULE_BUILD_FAILURE || r == ZE_RESULT_ERROR_MODULE_LINK_FAILURE)
		result = KSF_FAILED;
	if (said != NULL && message_own(m, said) != NULL)
		message_add(m, (ksf_field){.tag = KSF_LOG, .data = said, .size = size});
	message_result(m, result, (int32_t)r, took);
	if (log != NULL && w->log != NULL)
		*w->log = log;
	else if (log != NULL)
		lz_behind()->zeModuleBuildLogDestroy(log);
	return r;
}

static ze_result_t serve(const struct wanted *w, struct message *request)
{
	ksf_step step;
	struct message m = {0};
	uint32_t action = library_begin(&front_end, 0, request, &step);
	if (action == KSF_HIT) {
		ze_result_t code = ZE_RESULT_SUCCESS;
		uint32_t result = restore(w, &step.message, &code);
		message_result(&m, result, (int32_t)code, 0);
		action = library_next(&front_end, step.ticket, &m, &step);
		if (result == KSF_RESTORED) {
			library_end(&front_end, step.ticket);
			return ZE_RESULT_SUCCESS;
		}
	}
	if (action != KSF_BUILD) {
		library_end(&front_end, step.ticket);
		return pass(w);
	}
	ze_result_t r = build(w, &m);
	library_next(&front_end, step.ticket, &m, &step);
	library_end(&front_end, step.ticket);
	return r;
}

ze_result_t ks_zeModuleCreate(ze_context_handle_t context, ze_device_handle_t device, const ze_module_desc_t *desc,
	ze_module_handle_t *module, ze_module_build_log_handle_t *log)
{
	struct wanted w = {context, device, desc, module, log, NULL};
	struct message m = {0};
	if (own_call != 0 || context == NULL || device == NULL || desc == NULL || module == NULL || !lz_whole())
		return pass(&w);
	const char *reason = describe(desc, &m, &w.flags);
	if (reason == NULL)
		reason = library_arithmetic();
	if (reason == NULL && is_validated())
		reason = "validation layer";
	if (reason != NULL || library_open(&front_end) == NULL) {
		message_free(&m);
		if (reason != NULL && *reason != 0)
			passed(reason);
		return pass(&w);
	}
	for (uint32_t i = 0; i < LZ_QUERIES; i++)
		message_number(&m, KSF_FUNCTION, i, (uintptr_t)lz_behind()->queries[i]);
	message_number(&m, KSF_DEVICE, 0, (uintptr_t)device);
	message_text(&m, KSF_OPTIONS, w.flags);
	message_number(&m, KSF_ENVIRONMENT, 0, (uintptr_t)lz_environment());
	message_number(&m, KSF_DIRECTORIES, 0, library_look());
	int cancel = library_uncancelled();
	ze_result_t r = serve(&w, &m);
	library_cancelled(cancel);
	return r;
}
