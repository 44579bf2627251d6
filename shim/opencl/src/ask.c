/* ask.c: what the library is asked before a build. */
#include "shim.h"

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

/* Adds what a program was made of, as the driver has it, so that no second copy has to be kept. */
static bool add_code(struct message *m, const struct program *p)
{
	size_t size = 0;
	bool il = p->kind == KSF_SPIRV;
	char *code = message_own(m, program_text(handle_of(p), il ? CL_PROGRAM_IL : CL_PROGRAM_SOURCE, &size));
	if (!il && size == p->length + 1)
		size--;
	message_add(m, (ksf_field){.tag = KSF_CODE, .data = code, .size = size});
	return code != NULL && size == p->length;
}

bool add_header(struct message *m, cl_program handle, const char *name)
{
	struct program *p = name == NULL ? NULL : program_get(handle);
	bool known = p != NULL && p->kind == KSF_OPENCL_C && p->unknown == NULL;
	message_text(m, KSF_HEADER, name);
	known = known && add_code(m, p);
	program_put(p);
	return known;
}

bool add_unit(struct message *m, struct program *p, const char *options)
{
	message_number(m, KSF_UNIT, p->kind, 0);
	bool known = add_code(m, p);
	/* What another thread sets meanwhile comes before the head, and the rest stays. */
	state_lock();
	const struct constant *all = p->constants;
	state_unlock();
	for (const struct constant *c = all; c != NULL; c = c->link) {
		const struct constant *later = all;
		while (later != c && later->id != c->id)
			later = later->link;
		if (later == c)
			message_add(m, (ksf_field){.tag = KSF_CONSTANT, .detail = c->id, .data = c->value, .size = c->size});
	}
	message_text(m, KSF_OPTIONS, options);
	return known;
}

bool ask(uint32_t what, cl_uint n, const cl_device_id *devices, const ksf_message *units, const char *options,
	struct reply *reply)
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
	message_text(&m, KSF_OPTIONS, options);
	for (size_t i = 0; i < units->count; i++)
		message_add(&m, units->fields[i]);
	library_begin(&library_layer, what, &m, &step);
	message_free(&m);
	return reply_take(reply, &step, n) == KSF_HIT;
}
