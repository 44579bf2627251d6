/*
 * artifact.c: what a shadow keeps of what it was made from, to answer queries: logs, kernels, argument infos, and
 * the binaries that the application is to see where those are not what the shadow was made from.
 */
#include "shim.h"

/* What is kept of a message, with a field of no tag at the end. Of an object, which the application may ask for, the
 * binary is the answer. NULL: no memory. */
static ksf_message *kept_of(const ksf_message *m, bool is_object)
{
	struct message kept = {0};
	for (size_t i = 0; i < m->count; i++) {
		ksf_field f = m->fields[i];
		if (f.tag == (is_object ? KSF_ANSWER : KSF_BINARY))
			continue;
		if (f.tag == KSF_BINARY)
			f.tag = KSF_ANSWER;
		message_add(&kept, f);
	}
	message_add(&kept, (ksf_field){0});
	ksf_message *copy = kept.failed ? NULL : message_copy(&(ksf_message){kept.fields, kept.count});
	message_free(&kept);
	return copy;
}

/* The last record that was done with. It lies behind what the driver took for its program: the C library
 * gives that back to the system where nothing is behind it, and has each page of it made anew for the next. */
static struct shadow *_Atomic last;

static void shadow_free(struct shadow *s)
{
	free(s->kept);
	free(s->options);
	free(atomic_exchange(&last, s));
}

struct shadow *shadow_new(cl_program handle, cl_uint n, const cl_device_id *devices, const ksf_message *m,
	const char *options, bool is_object)
{
	struct shadow *s = calloc(1, sizeof(*s) + n * sizeof(*devices));
	if (s == NULL)
		return NULL;
	s->handle = handle;
	s->references = 1;
	s->ndevices = n;
	memcpy(s->devices, devices, n * sizeof(*devices));
	s->options = options == NULL ? NULL : strdup(options);
	s->is_object = is_object;
	s->kept = kept_of(m, is_object);
	if (s->kept == NULL || (options != NULL && s->options == NULL)) {
		shadow_free(s);
		return NULL;
	}
	return s;
}

void shadow_put(struct shadow *s)
{
	if (s == NULL || --s->references > 0)
		return;
	if (!s->is_program)
		next.clReleaseProgram(s->handle);
	library_released(s->answers);
	shadow_free(s);
}

bool shadow_asks(struct shadow *s, uint64_t id)
{
	for (cl_uint i = 0; i < s->ndevices; i++) {
		const ksf_field *answer = of_device(s->kept, i, KSF_ANSWER);
		if (answer != NULL && answer->data == NULL && answer->number > 0) {
			s->answers = id;
			return true;
		}
	}
	return false;
}

const ksf_field *shadow_kernel(const struct shadow *s, const char *name)
{
	for (const ksf_field *f = s->kept->fields; f->tag != 0; f++) {
		if (f->tag == KSF_KERNEL && f->data != NULL && strcmp(f->data, name) == 0)
			return f;
	}
	return NULL;
}
