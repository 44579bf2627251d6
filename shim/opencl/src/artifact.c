/*
 * artifact.c: what a shadow keeps of the artifacts that it was made from, to
 * answer queries: logs, kernels, argument infos, and the binaries that the
 * application is to see where those are not what the shadow was made from.
 */
#include "shim.h"

#include <stdlib.h>
#include <string.h>

/* The message that is kept of some artifacts. NULL: no memory. */
static ksf_message *kept_of(cl_uint n, const struct artifact *artifacts)
{
	struct message m = {0};
	for (cl_uint i = 0; i < n; i++) {
		const struct artifact *a = &artifacts[i];
		message_number(&m, KSF_PART, a->kind, 0);
		if (a->answer.size > 0)
			message_add(&m, (ksf_field){.tag = KSF_ANSWER, .number = a->answer.size, .data = a->answer.data, .size = a->answer.data == NULL ? 0 : a->answer.size});
		add_bytes(&m, KSF_LOG, a->log);
		for (uint32_t k = 0; k < a->nkernels; k++) {
			message_add(&m, (ksf_field){.tag = KSF_KERNEL, .data = a->kernels[k].name.data, .size = a->kernels[k].name.size});
			add_bytes(&m, KSF_KERNEL_ATTRIBUTES, a->kernels[k].attributes);
			for (uint32_t j = 0; j < a->kernels[k].nargs; j++)
				add_arg(&m, &a->kernels[k].args[j]);
		}
	}
	ksf_message *kept = m.failed ? NULL : message_copy(&(ksf_message){m.fields, m.count});
	message_free(&m);
	return kept;
}

/* The last record that was done with. It lies behind what the driver took for its program: the C library
 * gives that back to the system where nothing is behind it, and has each page of it made anew for the next. */
static struct shadow *_Atomic last;

static void shadow_free(struct shadow *s)
{
	free(s->artifacts);
	free(s->kept);
	free(s->options);
	free(atomic_exchange(&last, s));
}

struct shadow *shadow_new(cl_program handle, cl_uint n, const cl_device_id *devices, const struct artifact *artifacts,
	const char *options)
{
	struct shadow *s = calloc(1, sizeof(*s) + n * sizeof(*devices));
	if (s == NULL)
		return NULL;
	s->handle = handle;
	s->references = 1;
	s->ndevices = n;
	memcpy(s->devices, devices, n * sizeof(*devices));
	s->options = options == NULL ? NULL : strdup(options);
	s->kept = kept_of(n, artifacts);
	s->artifacts = s->kept == NULL ? NULL : artifacts_of(s->kept, KSF_PART, n);
	if (s->artifacts == NULL || (options != NULL && s->options == NULL)) {
		shadow_free(s);
		return NULL;
	}
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
	context_lets_go(s);
	if (s->answers != 0)
		library_released(s->answers);
	shadow_free(s);
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
