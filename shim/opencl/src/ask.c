/* ask.c: what the library is asked before a build. */
#include "shim.h"

#include <stdlib.h>
#include <string.h>

cl_context program_context(const struct program *p)
{
	cl_context context = NULL;
	if (next.clGetProgramInfo(handle_of(p), CL_PROGRAM_CONTEXT, sizeof(context), &context, NULL) != CL_SUCCESS)
		return NULL;
	return context;
}

/* The program's constants, the last value of each. */
static ksl_constant *constants_of(const struct program *p, uint32_t *n)
{
	size_t most = 0;
	*n = 0;
	/* What another thread sets meanwhile comes before the head, and the rest stays. */
	state_lock();
	const struct constant *head = p->constants;
	state_unlock();
	for (const struct constant *c = head; c != NULL; c = c->link)
		most++;
	ksl_constant *out = calloc(most + 1, sizeof(*out));
	for (const struct constant *c = head; out != NULL && c != NULL; c = c->link) {
		uint32_t i = 0;
		while (i < *n && out[i].id != c->id)
			i++;
		if (i == *n)
			out[(*n)++] = (ksl_constant){c->id, {c->value, c->size}};
	}
	return out;
}

bool unit_of(struct program *p, struct unit_text *text, ksl_unit *unit)
{
	size_t size = 0;
	bool il = p->origin == FROM_IL;
	memset(text, 0, sizeof(*text));
	memset(unit, 0, sizeof(*unit));
	/* As the driver has it, so that no second copy has to be kept. */
	text->code = program_text(handle_of(p), il ? CL_PROGRAM_IL : CL_PROGRAM_SOURCE, &size);
	text->constants = constants_of(p, &unit->nconstants);
	if (!il && size == p->length + 1)
		size--;
	if (text->code == NULL || text->constants == NULL || size != p->length) {
		unit_free(text);
		return false;
	}
	text->bytes = (ksl_bytes){text->code, size};
	unit->kind = il ? KSL_SPIRV : KSL_OPENCL_C;
	unit->nstrings = 1;
	unit->strings = &text->bytes;
	unit->constants = text->constants;
	return true;
}

void unit_free(struct unit_text *text)
{
	free(text->code);
	free(text->constants);
	memset(text, 0, sizeof(*text));
}

const ksl_api *ask(uint32_t what, cl_uint n, const cl_device_id *devices, const ksl_unit *units, uint32_t nunits,
	const char *options, ksl_reply *reply)
{
	ksl_driver driver = {.get_device_info = (void *)next.clGetDeviceInfo, .get_platform_info = (void *)next.clGetPlatformInfo};
	cl_platform_id platform = NULL;
	const ksl_api *api = library();
	if (api == NULL)
		return NULL;
	if (next.clGetPlatformInfo == NULL ||
		next.clGetDeviceInfo(devices[0], CL_DEVICE_PLATFORM, sizeof(platform), &platform, NULL) != CL_SUCCESS) {
		layer_passed("unknown platform");
		return NULL;
	}
	if (pocl_cache() == POCL_CACHE_UNKNOWN && device_is_pocl(devices[0])) {
		layer_passed("POCL_KERNEL_CACHE is neither 0 nor 1, or was changed");
		return NULL;
	}
	driver.platform = platform;
	ksl_request request = {.size = sizeof(request), .what = what, .driver = &driver, .ndevices = n,
		.devices = (void *const *)devices, .nunits = nunits, .units = units,
		.options = {options, options == NULL ? 0 : strlen(options)}, .directories = library_look()};
	memset(reply, 0, sizeof(*reply));
	if (layer_begin(api, &request, reply) != KSL_SERVE)
		return NULL;
	if (!reply_is_sound(reply, n)) {
		layer_end(api, reply->ticket);
		return NULL;
	}
	return api;
}

bool reply_is_sound(const ksl_reply *reply, cl_uint n)
{
	if (reply->action != KSL_SERVE || reply->nartifacts != n || reply->artifacts == NULL)
		return false;
	for (cl_uint i = 0; i < n; i++) {
		const ksl_artifact *a = &reply->artifacts[i];
		if (a->kind > KSL_DEFERRED || (a->binary.data != NULL && a->binary.size == 0) ||
			(a->nkernels > 0 && a->kernels == NULL))
			return false;
	}
	return true;
}
