/* reply.c: what the library says of a program, and is told. */
#include "shim.h"

#include <string.h>

const ksf_field *of_device(const ksf_message *m, cl_uint device, uint32_t tag)
{
	cl_uint parts = 0;
	for (size_t i = 0; i < m->count && parts <= device + 1; i++) {
		parts += m->fields[i].tag == KSF_PART;
		if (parts == device + 1 && m->fields[i].tag == tag)
			return &m->fields[i];
	}
	return NULL;
}

struct bytes binary_of(const ksf_message *m, cl_uint device)
{
	const ksf_field *f = of_device(m, device, KSF_BINARY);
	return f == NULL ? (struct bytes){NULL, 0} : (struct bytes){f->data, f->size};
}

bool has_log(const ksf_message *m, cl_uint device)
{
	const ksf_field *log = of_device(m, device, KSF_LOG);
	return log != NULL && log->size > 0;
}

uint32_t kind_of(const ksf_message *m) { return of_device(m, 0, KSF_PART)->detail; }

cl_uint holes_of(const ksf_message *m, cl_uint n)
{
	cl_uint holes = 0;
	for (cl_uint i = 0; i < n; i++)
		holes += of_device(m, i, KSF_BINARY) == NULL;
	return holes;
}

const ksf_field *next_kernel(const ksf_message *m, const ksf_field *k)
{
	const ksf_field *end = m->fields + m->count;
	if (k == NULL)
		return of_device(m, 0, KSF_KERNEL);
	do
		k++;
	while (k < end && k->tag != KSF_KERNEL && k->tag != KSF_PART);
	return k < end && k->tag == KSF_KERNEL ? k : NULL;
}

static bool makes_sense(const ksf_message *m, cl_uint n)
{
	cl_uint parts = 0;
	for (size_t i = 0; i < m->count; i++) {
		const ksf_field *f = &m->fields[i];
		parts += f->tag == KSF_PART;
		if (parts == 0 || (f->tag == KSF_PART && f->detail > KSF_DEFERRED) || (f->tag == KSF_BINARY && f->size == 0))
			return false;
	}
	return parts == n;
}

uint32_t reply_take(struct reply *reply, const ksf_step *step, cl_uint n)
{
	*reply = (struct reply){.ticket = step->ticket, .program = step->program, .saved = step->saved, .message = step->message};
	reply->hit = step->action == KSF_HIT && makes_sense(&step->message, n);
	if (step->action == KSF_DONE || reply->hit)
		return step->action;
	reply_end(reply);
	return KSF_PASS;
}

uint32_t reply_next(struct reply *reply, cl_uint n, struct message *results)
{
	ksf_step step;
	library_next(&library_layer, reply->ticket, results, &step);
	message_free(results);
	return reply_take(reply, &step, n);
}

void reply_end(struct reply *reply)
{
	library_end(&library_layer, reply->ticket);
	memset(reply, 0, sizeof(*reply));
}
