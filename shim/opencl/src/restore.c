/* restore.c: programs from binaries. */
#include "driver.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

/* Whether the list "a;b" of length size names the kernel. */
static bool listed(const char *list, const struct bytes *name)
{
	for (const char *at = list; at != NULL; at = strchr(at, ';'), at = at == NULL ? NULL : at + 1) {
		if (strncmp(at, name->data, name->size) == 0 && (at[name->size] == ';' || at[name->size] == 0))
			return true;
	}
	return false;
}

/* A binary that makes other kernels than were recorded is not the program's. */
static bool same_kernels(cl_program program, const struct artifact *a)
{
	if (a->nkernels == 0)
		return true;
	size_t size, count = 0;
	if (next.clGetProgramInfo(program, CL_PROGRAM_NUM_KERNELS, sizeof(count), &count, NULL) != CL_SUCCESS ||
		count != a->nkernels)
		return false;
	char *names = program_text(program, CL_PROGRAM_KERNEL_NAMES, &size);
	bool same = names != NULL;
	for (uint32_t i = 0; same && i < a->nkernels; i++)
		same = a->kernels[i].name.data != NULL && listed(names, &a->kernels[i].name);
	free(names);
	return same;
}

bool blames_binary(cl_int code)
{
	return code == CL_INVALID_BINARY || code == CL_BUILD_PROGRAM_FAILURE || code == CL_INVALID_PROGRAM ||
		code == CL_INVALID_BUILD_OPTIONS || code == CL_INVALID_OPERATION || code == CL_COMPILER_NOT_AVAILABLE;
}

cl_program restore(cl_context context, cl_uint n, const cl_device_id *devices, const struct artifact *artifacts,
	const char *options, struct outcome *outcomes)
{
	size_t sizes[64];
	const unsigned char *binaries[64];
	unsigned char *own[64] = {NULL};
	cl_int status[64], code = CL_SUCCESS;
	cl_program program = NULL;
	bool unshared = pocl_cache() == POCL_CACHE_OFF && device_is_pocl(devices[0]), complete = true;

	for (cl_uint i = 0; i < n; i++) {
		if (unshared)
			own[i] = pocl_unshared(artifacts[i].binary);
		complete = complete && (!unshared || own[i] != NULL);
		sizes[i] = artifacts[i].binary.size;
		binaries[i] = unshared ? own[i] : artifacts[i].binary.data;
		status[i] = CL_SUCCESS;
		outcomes[i] = (struct outcome){.result = KSF_ABANDONED};
	}
	size_t all = 0;
	for (cl_uint i = 0; i < n; i++)
		all += sizes[i];
	void *heap = heap_begin(all);
	uint64_t start = nanoseconds();
	if (complete)
		program = next.clCreateProgramWithBinary(context, n, devices, sizes, binaries, status, &code);
	else
		layer_passed("POCL_KERNEL_CACHE=0, and a binary of another PoCL");
	for (cl_uint i = 0; i < n; i++)
		free(own[i]);
	bool good = program != NULL && code == CL_SUCCESS;
	if (good) {
		/* Of machine code nothing is compiled, and changing handlers takes 20 µs. */
		code = artifacts[0].kind == KSF_INTERMEDIATE ? driver_build(program, n, devices, options, NULL, NULL)
													 : next.clBuildProgram(program, n, devices, options, NULL, NULL);
		for (cl_uint i = 0; i < n; i++)
			status[i] = build_status(program, devices[i]) == CL_BUILD_SUCCESS ? CL_SUCCESS : CL_INVALID_BINARY;
		good = code == CL_SUCCESS;
		if (good)
			code = CL_INVALID_BINARY; /* if anything is wrong from here on */
		for (cl_uint i = 0; i < n; i++)
			good = good && status[i] == CL_SUCCESS;
		good = good && same_kernels(program, &artifacts[0]);
	}
	heap_end(heap);
	uint64_t took = nanoseconds() - start;
	bool blamed = false;
	for (cl_uint i = 0; i < n; i++)
		blamed = blamed || status[i] != CL_SUCCESS;
	for (cl_uint i = 0; i < n; i++) {
		outcomes[i].nanoseconds = took / n;
		if (good) {
			outcomes[i].result = KSF_RESTORED;
			continue;
		}
		outcomes[i].code = code;
		if (blames_binary(code) && (!blamed || status[i] != CL_SUCCESS))
			outcomes[i].result = KSF_REFUSED;
	}
	if (!good && program != NULL) {
		next.clReleaseProgram(program);
		program = NULL;
	}
	return program;
}

cl_int restore_object(struct program *p, struct compiled *c)
{
	size_t sizes[64];
	const unsigned char *binaries[64];
	cl_int status[64], code = CL_SUCCESS;
	cl_context context = program_context(p);
	bool count = context != NULL && context_needs_count();
	cl_uint before = count ? context_references(context) : 0;

	if (context == NULL)
		return CL_OUT_OF_HOST_MEMORY;
	for (cl_uint i = 0; i < c->n; i++) {
		sizes[i] = c->known[i].binary.size;
		binaries[i] = c->known[i].binary.data;
		status[i] = CL_SUCCESS;
		c->known[i].answer = c->known[i].binary; /* the application may ask for it */
	}
	cl_program handle = next.clCreateProgramWithBinary(context, c->n, c->devices, sizes, binaries, status, &code);
	if (handle == NULL)
		return code == CL_SUCCESS ? CL_OUT_OF_HOST_MEMORY : code;
	bool good = code == CL_SUCCESS;
	for (cl_uint i = 0; i < c->n; i++)
		good = good && status[i] == CL_SUCCESS;
	struct shadow *s = good ? shadow_new(handle, c->n, c->devices, c->known, c->options) : NULL;
	if (s == NULL) {
		next.clReleaseProgram(handle);
		return good ? CL_OUT_OF_HOST_MEMORY : CL_INVALID_BINARY;
	}
	if (count)
		context_counts(before, context_references(context));
	s->is_object = true;
	s->context = context;
	context_add(context, 1);
	program_set_shadow(p, s, 0);
	for (cl_uint i = 0; i < c->n; i++) { /* the shadow has them */
		free((void *)c->known[i].binary.data);
		c->known[i].binary = c->known[i].answer = (struct bytes){NULL, 0};
	}
	return CL_SUCCESS;
}
