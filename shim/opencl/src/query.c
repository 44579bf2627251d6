/* query.c: what an application asks about a program. */
#include "shim.h"

cl_int answer(const void *value, size_t size, size_t room, void *to, size_t *size_ret)
{
	if (to != NULL && room < size)
		return CL_INVALID_VALUE;
	if (to != NULL)
		memcpy(to, value, size);
	if (size_ret != NULL)
		*size_ret = size;
	return CL_SUCCESS;
}

cl_int answer_text(const ksf_field *text, size_t room, void *to, size_t *size_ret)
{
	return answer(text->data, text->size + 1, room, to, size_ret);
}

/* A program and its kernels hold references in the driver's own way; the shadow has those of the kernels. */
static cl_int reference_count(struct program *p, struct shadow *s, size_t room, void *to, size_t *size_ret)
{
	cl_uint own = 0, shadow = 0;
	cl_int code = next.clGetProgramInfo(handle_of(p), CL_PROGRAM_REFERENCE_COUNT, room, to, size_ret);
	if (code != CL_SUCCESS || to == NULL || s->is_program)
		return code;
	memcpy(&own, to, sizeof(own));
	if (next.clGetProgramInfo(s->handle, CL_PROGRAM_REFERENCE_COUNT, sizeof(shadow), &shadow, NULL) != CL_SUCCESS)
		return code;
	/* Each kernel retained the program once: a driver that does not count kernels has not done so in the shadow. */
	state_lock();
	own = own - p->kernels + (shadow - 1);
	state_unlock();
	memcpy(to, &own, sizeof(own));
	return code;
}

/* Whether the program has devices that the shadow knows nothing of: it was built for some. What drivers say of
 * the others, and of all together, differs, so the driver has to build it after all where it is asked. */
static bool built_late_for_others(struct program *p, struct shadow *s)
{
	if (s->ndevices == p->ndevices || s->is_program || s->is_object)
		return false;
	program_build_late(p);
	return true;
}

/* What is compiled has no kernels, to PoCL: of their names it says that they take a byte, and writes none. Other
 * drivers say the same of it and of what is restored, and not built. */
static cl_int no_kernels(struct shadow *s, cl_program_info what, size_t room, void *to, size_t *size_ret)
{
	static const size_t none = 0;
	if (!s->is_object || !device_is_pocl(s->devices[0]))
		return next.clGetProgramInfo(s->handle, what, room, to, size_ret);
	if (what == CL_PROGRAM_NUM_KERNELS)
		return answer(&none, sizeof(none), room, to, size_ret);
	return to != NULL && room < 1 ? CL_INVALID_VALUE : answer("", 1, room, NULL, size_ret);
}

/* The driver's binaries of a handle of n devices, sizes[i] bytes of each to pointers[i]. Those that are NULL are
 * not wanted: the driver may leave them out, but NVIDIA's (580) crashes where there is but one. */
static cl_int wanted_binaries(cl_program handle, cl_uint n, const size_t *sizes, unsigned char *const *pointers)
{
	unsigned char *all[64], *unwanted = NULL;
	size_t most = 0;
	bool any = false;
	for (cl_uint i = 0; i < n; i++) {
		any = any || pointers[i] != NULL;
		if (pointers[i] == NULL && sizes[i] > most)
			most = sizes[i];
	}
	if (!any)
		return CL_SUCCESS;
	if (most > 0 && (unwanted = malloc(most)) == NULL)
		return CL_OUT_OF_HOST_MEMORY;
	for (cl_uint i = 0; i < n; i++)
		all[i] = pointers[i] != NULL ? pointers[i] : unwanted;
	cl_int code = next.clGetProgramInfo(handle, CL_PROGRAM_BINARIES, n * sizeof(all[0]), all, NULL);
	free(unwanted);
	return code;
}

/* Writes what CL_PROGRAM_BINARIES answers for a device, which a reply left out: false where it is
 * gone. It is written here, and not by the library: a host's collector may guard its memory, and handle
 * the signal of a write, not in a thread of ours. */
static bool stored_binary(uint64_t program, cl_uint device, void *to, size_t size)
{
	struct message m = {0};
	ksf_step step;
	message_number(&m, KSF_UNIT, 0, program);
	message_number(&m, KSF_DEVICE, 0, device);
	library_begin(&library_layer, ASK_ANSWER, &m, &step);
	const ksf_field *found = step.action == KSF_HIT ? message_find(&step.message, KSF_BINARY, 0) : NULL;
	bool there = found != NULL && found->size == size;
	if (there)
		memcpy(to, found->data, size);
	library_end(&library_layer, step.ticket);
	return there;
}

/* The driver's binary for the program's device i, which it has to build for that: what the cache had of it is gone. */
static cl_int built_binary(struct program *p, cl_uint i, size_t size, unsigned char *to)
{
	size_t sizes[64];
	unsigned char *pointers[64] = {NULL};
	size_t n = p->ndevices;

	if (n > 64 || !program_build_late(p) ||
		next.clGetProgramInfo(handle_of(p), CL_PROGRAM_BINARY_SIZES, n * sizeof(sizes[0]), sizes, NULL) != CL_SUCCESS ||
		sizes[i] != size)
		return CL_OUT_OF_HOST_MEMORY;
	pointers[i] = to;
	return wanted_binaries(handle_of(p), (cl_uint)n, sizes, pointers);
}

/* Sizes of binaries and binaries, in the order of the program's devices. */
static cl_int binaries(struct program *p, struct shadow *s, bool sizes, size_t room, void *to, size_t *size_ret)
{
	cl_uint n = 0;
	cl_device_id listed[64];
	size_t own[64];
	unsigned char *pointers[64] = {NULL}, **out = to;
	size_t want = p->ndevices * (sizes ? sizeof(size_t) : sizeof(unsigned char *));

	if (to == NULL && size_ret != NULL)
		*size_ret = want;
	if (to == NULL || room < want)
		return to == NULL ? CL_SUCCESS : CL_INVALID_VALUE;
	/* The shadow of a compiled program, which was not built, has none on some drivers. */
	cl_int code = s->is_object ? CL_SUCCESS : binary_sizes(s->handle, &n, listed, own);
	if (code != CL_SUCCESS)
		return code;
	for (cl_uint i = 0; i < p->ndevices; i++) {
		int at = index_of(p->devices[i], s->ndevices, s->devices);
		const ksf_field *other = at < 0 ? NULL : of_device(s->kept, (cl_uint)at, KSF_ANSWER);
		size_t size = other == NULL ? 0 : other->data == NULL ? (size_t)other->number : other->size;
		int j = index_of(p->devices[i], n, listed);
		if (sizes)
			((size_t *)to)[i] = size > 0 ? size : j >= 0 ? own[j] : 0;
		else if (size == 0 && j >= 0)
			pointers[j] = out[i];
		else if (size > 0 && out[i] != NULL && other->data != NULL)
			memcpy(out[i], other->data, size);
		else if (size > 0 && out[i] != NULL && !stored_binary(s->answers, (cl_uint)at, out[i], size) && code == CL_SUCCESS)
			code = built_binary(p, i, size, out[i]);
	}
	if (!sizes && code == CL_SUCCESS)
		code = wanted_binaries(s->handle, n, own, pointers);
	if (code == CL_SUCCESS && size_ret != NULL)
		*size_ret = want;
	return code;
}

/* The names in the order in which the build gave them. */
static cl_int kernel_names(struct shadow *s, size_t room, void *to, size_t *size_ret)
{
	size_t size = 0;
	char *at = to;
	for (const ksf_field *k = NULL; (k = next_kernel(s->kept, k)) != NULL;)
		size += k->size + 1;
	if (size == 0)
		return no_kernels(s, CL_PROGRAM_KERNEL_NAMES, room, to, size_ret);
	if (to != NULL && room < size)
		return CL_INVALID_VALUE;
	for (const ksf_field *k = NULL; to != NULL && (k = next_kernel(s->kept, k)) != NULL; at++) {
		at = mempcpy(at, k->data, k->size);
		*at = ';';
	}
	if (to != NULL)
		at[-1] = 0;
	if (size_ret != NULL)
		*size_ret = size;
	return CL_SUCCESS;
}

cl_int CL_API_CALL ks_clGetProgramInfo(cl_program handle, cl_program_info what, size_t room, void *to, size_t *size_ret)
{
	struct program *p = program_get(handle);
	cl_int code = CL_SUCCESS;

	if (p != NULL && what >= CL_PROGRAM_BINARY_SIZES && what != CL_PROGRAM_IL)
		code = program_compile(p, false);
	if (code != CL_SUCCESS) {
		program_put(p);
		return code;
	}
	struct shadow *s = p == NULL ? NULL : program_shadow(p);
	switch (s == NULL ? 0 : what) {
	case CL_PROGRAM_REFERENCE_COUNT:
		code = reference_count(p, s, room, to, size_ret);
		break;
	case CL_PROGRAM_BINARY_SIZES:
	case CL_PROGRAM_BINARIES:
		code = built_late_for_others(p, s) ? next.clGetProgramInfo(handle, what, room, to, size_ret)
										: binaries(p, s, what == CL_PROGRAM_BINARY_SIZES, room, to, size_ret);
		break;
	case CL_PROGRAM_KERNEL_NAMES:
		code = kernel_names(s, room, to, size_ret);
		break;
	case CL_PROGRAM_NUM_KERNELS:
		code = no_kernels(s, what, room, to, size_ret);
		break;
	case CL_PROGRAM_SCOPE_GLOBAL_CTORS_PRESENT:
	case CL_PROGRAM_SCOPE_GLOBAL_DTORS_PRESENT:
		code = next.clGetProgramInfo(s->handle, what, room, to, size_ret);
		break;
	default:
		code = next.clGetProgramInfo(handle, what, room, to, size_ret);
	}
	shadow_put(s);
	program_put(p);
	return code;
}

cl_int CL_API_CALL ks_clGetProgramBuildInfo(cl_program handle, cl_device_id device, cl_program_build_info what, size_t room,
	void *to, size_t *size_ret)
{
	static const cl_build_status built = CL_BUILD_SUCCESS;
	struct program *p = program_get(handle);
	const ksf_field *log;
	cl_int code;

	if (p != NULL && pending_build_info(p, device, what, room, to, size_ret, &code)) {
		program_put(p);
		return code;
	}
	struct shadow *s = p == NULL ? NULL : program_shadow(p);
	int at = s == NULL ? -1 : index_of(device, s->ndevices, s->devices);
	if (s != NULL && at < 0 && device != NULL && p->ndevices > 0) {
		cl_device_id whole = program_device(p, device);
		at = whole == NULL ? -1 : index_of(whole, s->ndevices, s->devices);
	}

	if (s != NULL && at < 0)
		built_late_for_others(p, s);
	if (at < 0)
		code = next.clGetProgramBuildInfo(handle, device, what, room, to, size_ret);
	else if (s->is_object && what == CL_PROGRAM_BUILD_STATUS) /* the driver's own is none, as it was not built */
		code = answer(&built, sizeof(built), room, to, size_ret);
	else if (what == CL_PROGRAM_BUILD_LOG && (log = of_device(s->kept, (cl_uint)at, KSF_LOG)) != NULL)
		code = answer_text(log, room, to, size_ret);
	else if (what == CL_PROGRAM_BUILD_OPTIONS && !s->is_program && (s->is_object || !device_is_pocl(device)))
		/* As they were given; a driver may know those of the binary only. PoCL
		 * makes a string of its own of those of a build. */
		code = s->options == NULL ? answer("", 1, room, to, size_ret) : answer(s->options, strlen(s->options) + 1, room, to, size_ret);
	else
		code = next.clGetProgramBuildInfo(s->handle, device, what, room, to, size_ret);
	if (p != NULL && at < 0 && what == CL_PROGRAM_BUILD_STATUS && code == CL_SUCCESS && to != NULL) {
		cl_build_status status;
		memcpy(&status, to, sizeof(status));
		if (state_claimed(p->building) && status == CL_BUILD_NONE)
			status = CL_BUILD_IN_PROGRESS;
		memcpy(to, &status, sizeof(status));
	}
	shadow_put(s);
	program_put(p);
	return code;
}
