/*
 * artifact.c: what a shadow keeps of the artifacts that it was made from, to
 * answer queries: logs, kernels, argument infos, and the binaries that the
 * application is to see where those are not what the shadow was made from.
 */
#include "shim.h"

#include <stdlib.h>
#include <string.h>

/* One allocation for everything: counted in a first pass, filled in a second. */
struct arena {
	unsigned char *base; /* NULL: counting */
	size_t used;
};

static void *take(struct arena *a, size_t size, const void *from)
{
	size_t at = (a->used + 15) & ~(size_t)15;
	a->used = at + size;
	if (a->base == NULL)
		return NULL;
	if (from != NULL && size > 0)
		memcpy(a->base + at, from, size);
	return a->base + at;
}

static struct bytes take_bytes(struct arena *a, struct bytes b)
{
	if (b.data == NULL)
		return b;
	/* A NUL behind it: names are compared as C strings. */
	char *to = take(a, b.size + 1, NULL);
	if (to != NULL) {
		memcpy(to, b.data, b.size);
		to[b.size] = 0;
	}
	return (struct bytes){to, b.size};
}

static void take_kernels(struct arena *a, const struct artifact *from, struct artifact *to)
{
	struct kernel_info *kernels = take(a, from->nkernels * sizeof(*kernels), NULL);
	for (uint32_t i = 0; i < from->nkernels; i++) {
		const struct kernel_info *k = &from->kernels[i];
		struct kernel_info kept = {.name = take_bytes(a, k->name), .attributes = take_bytes(a, k->attributes), .nargs = k->nargs};
		struct arg_info *args = take(a, k->nargs * sizeof(*args), NULL);
		for (uint32_t j = 0; j < k->nargs; j++) {
			struct arg_info arg = k->args[j];
			arg.name = take_bytes(a, arg.name);
			arg.type = take_bytes(a, arg.type);
			if (args != NULL)
				args[j] = arg;
		}
		kept.args = args;
		if (kernels != NULL)
			kernels[i] = kept;
	}
	if (to != NULL) {
		to->nkernels = from->nkernels;
		to->kernels = kernels;
	}
}

static struct shadow *lay_out(struct arena *a, cl_uint n, const cl_device_id *devices, const struct artifact *artifacts,
	const char *options)
{
	struct shadow *s = take(a, sizeof(*s), NULL);
	void *kept_devices = take(a, n * sizeof(*devices), devices);
	struct artifact *kept = take(a, n * sizeof(*kept), NULL);
	char *kept_options = options == NULL ? NULL : take(a, strlen(options) + 1, options);
	for (cl_uint i = 0; i < n; i++) {
		struct artifact copy = {.answer = take_bytes(a, artifacts[i].answer), .log = take_bytes(a, artifacts[i].log),
			.kind = artifacts[i].kind};
		/* Devices of one program mostly share their list. */
		if (i > 0 && artifacts[i].kernels == artifacts[0].kernels && artifacts[i].nkernels == artifacts[0].nkernels) {
			if (kept != NULL) {
				copy.kernels = kept[0].kernels;
				copy.nkernels = kept[0].nkernels;
			}
		} else {
			take_kernels(a, &artifacts[i], &copy);
		}
		if (kept != NULL)
			kept[i] = copy;
	}
	if (s != NULL)
		*s = (struct shadow){.references = 1, .ndevices = n, .devices = kept_devices, .artifacts = kept,
			.options = kept_options};
	return s;
}

/* The memory of one record that is done with, for the next. An application that builds
 * one program after the other frees all that its driver has taken for one before the
 * next; the C library would give that back to the system, and have each page of it made
 * anew, 1.4 MB of them for a large program, for lack of anything behind it. */
static struct {
	void *base;
	size_t size;
} spare;

enum { spare_most = 64 << 10 };

static void *record_take(size_t *size)
{
	state_lock();
	void *base = spare.size >= *size ? spare.base : NULL;
	if (base != NULL) {
		*size = spare.size;
		spare.base = NULL;
		spare.size = 0;
	}
	state_unlock();
	return base != NULL ? base : malloc(*size);
}

static void record_give(void *base, size_t size)
{
	state_lock();
	if (size > spare.size && size <= spare_most) {
		void *smaller = spare.base;
		spare.base = base;
		spare.size = size;
		base = smaller;
	}
	state_unlock();
	free(base);
}

struct shadow *shadow_new(cl_program handle, cl_uint ndevices, const cl_device_id *devices, const struct artifact *artifacts,
	const char *options)
{
	struct arena a = {NULL, 0};
	lay_out(&a, ndevices, devices, artifacts, options);
	size_t size = a.used;
	a.base = record_take(&size);
	if (a.base == NULL)
		return NULL;
	a.used = 0;
	struct shadow *s = lay_out(&a, ndevices, devices, artifacts, options);
	s->handle = handle;
	s->size = size;
	return s;
}

void shadow_put(struct shadow *s)
{
	if (s == NULL)
		return;
	state_lock();
	bool last = --s->references == 0;
	state_unlock();
	if (!last)
		return;
	if (!s->is_program)
		next.clReleaseProgram(s->handle);
	if (s->context != NULL)
		context_add(s->context, -1);
	if (s->answers != 0)
		library_released(s->answers);
	record_give(s, s->size); /* the start of its one allocation */
}

int shadow_device(const struct shadow *s, cl_device_id device)
{
	for (cl_uint i = 0; i < s->ndevices; i++) {
		if (s->devices[i] == device)
			return (int)i;
	}
	return -1;
}

bool shadow_asks(struct shadow *s, uint64_t id)
{
	for (cl_uint i = 0; i < s->ndevices; i++) {
		if (s->artifacts[i].answer.data == NULL && s->artifacts[i].answer.size > 0) {
			s->answers = id;
			return true;
		}
	}
	return false;
}

const struct kernel_info *shadow_kernel(const struct shadow *s, const char *name)
{
	for (cl_uint d = 0; d < s->ndevices; d++) {
		for (uint32_t i = 0; i < s->artifacts[d].nkernels; i++) {
			const struct kernel_info *k = &s->artifacts[d].kernels[i];
			if (k->name.data != NULL && strcmp(k->name.data, name) == 0)
				return k;
		}
	}
	return NULL;
}
