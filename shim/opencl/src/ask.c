/* ask.c: what the library is asked before a build. */
#include "shim.h"

#include <stdlib.h>
#include <string.h>

cl_platform_id platform_of(cl_device_id device)
{
	cl_platform_id platform = NULL;
	if (next.clGetDeviceInfo(device, CL_DEVICE_PLATFORM, sizeof(platform), &platform, NULL) != CL_SUCCESS)
		return NULL;
	return platform;
}

cl_context program_context(const struct program *p)
{
	cl_context context = NULL;
	if (next.clGetProgramInfo(handle_of(p), CL_PROGRAM_CONTEXT, sizeof(context), &context, NULL) != CL_SUCCESS)
		return NULL;
	return context;
}

bool unit_of(struct program *p, struct unit *unit)
{
	size_t size = 0;
	bool il = p->origin == FROM_IL;
	*unit = (struct unit){.kind = il ? KSF_SPIRV : KSF_OPENCL_C};
	/* As the driver has it, so that no second copy has to be kept. */
	unit->code.data = program_text(handle_of(p), il ? CL_PROGRAM_IL : CL_PROGRAM_SOURCE, &size);
	/* What another thread sets meanwhile comes before the head, and the rest stays. */
	state_lock();
	unit->constants = p->constants;
	state_unlock();
	if (!il && size == p->length + 1)
		size--;
	unit->code.size = size;
	if (unit->code.data != NULL && size == p->length)
		return true;
	unit_free(unit);
	return false;
}

void unit_free(struct unit *unit)
{
	free((void *)unit->code.data);
	memset(unit, 0, sizeof(*unit));
}

static void add(struct message *m, uint32_t tag, uint32_t detail, struct bytes b)
{
	message_add(m, (ksf_field){.tag = tag, .detail = detail, .data = b.data, .size = b.size});
}

static void add_unit(struct message *m, const struct unit *u)
{
	message_number(m, KSF_UNIT, u->kind, u->compiled);
	add(m, KSF_CODE, 0, u->code);
	for (uint32_t i = 0; i < u->nheaders; i++) {
		add(m, KSF_HEADER, 0, u->headers[i].name);
		add(m, KSF_CODE, 0, u->headers[i].code);
	}
	for (const struct constant *c = u->constants; c != NULL; c = c->link) {
		const struct constant *later = u->constants;
		while (later != c && later->id != c->id)
			later = later->link;
		if (later == c)
			add(m, KSF_CONSTANT, c->id, (struct bytes){c->value, c->size});
	}
	add(m, KSF_OPTIONS, 0, u->options);
}

bool ask(uint32_t what, cl_uint n, const cl_device_id *devices, const struct unit *units, uint32_t nunits,
	const char *options, struct reply *reply)
{
	struct message m = {0};
	ksf_step step;
	memset(reply, 0, sizeof(*reply));
	if (!library())
		return false;
	cl_platform_id platform = platform_of(devices[0]);
	if (next.clGetPlatformInfo == NULL || platform == NULL) {
		layer_passed("unknown platform");
		return false;
	}
	if (pocl_cache() == POCL_CACHE_UNKNOWN && device_is_pocl(devices[0])) {
		layer_passed("POCL_KERNEL_CACHE is neither 0 nor 1, or was changed");
		return false;
	}
	message_number(&m, KSF_FUNCTION, 0, (uintptr_t)next.clGetPlatformInfo);
	message_number(&m, KSF_FUNCTION, 1, (uintptr_t)next.clGetDeviceInfo);
	message_number(&m, KSF_PLATFORM, 0, (uintptr_t)platform);
	for (cl_uint i = 0; i < n; i++)
		message_number(&m, KSF_DEVICE, 0, (uintptr_t)devices[i]);
	message_number(&m, KSF_DIRECTORIES, 0, library_look());
	add(&m, KSF_OPTIONS, 0, bytes_of(options));
	for (uint32_t i = 0; i < nunits; i++)
		add_unit(&m, &units[i]);
	library_begin(&library_layer, what, &m, &step);
	message_free(&m);
	return reply_take(reply, &step, n) == KSF_HIT;
}
