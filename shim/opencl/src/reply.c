/* reply.c: what the library says of a program, and is told. */
#include "shim.h"

#include <stdlib.h>
#include <string.h>

void add_bytes(struct message *m, uint32_t tag, struct bytes b)
{
	if (b.data != NULL)
		message_add(m, (ksf_field){.tag = tag, .data = b.data, .size = b.size});
}

void add_arg(struct message *m, const struct arg_info *arg)
{
	message_add(m, (ksf_field){.tag = KSF_ARGUMENT, .detail = arg->address, .number = arg->qualifiers, .data = arg->name.data,
		.size = arg->name.size});
	message_add(m, (ksf_field){.tag = KSF_ARGUMENT_TYPE, .detail = arg->access, .data = arg->type.data, .size = arg->type.size});
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
	free(reply->artifacts);
	memset(reply, 0, sizeof(*reply));
}

/* Where the next artifact, kernel and argument are to be. */
struct space {
	struct artifact *next, *artifact; /* NULL: before the first */
	struct kernel_info *kernel;
	struct arg_info *arg;
};

/* Reads the next field; false: it makes no sense there. */
static bool take(struct space *s, const ksf_field *f)
{
	struct bytes b = {f->data, f->size};
	struct artifact *a = s->artifact;
	struct kernel_info *k = a == NULL || a->nkernels == 0 ? NULL : s->kernel - 1;
	struct arg_info *arg = k == NULL || k->nargs == 0 ? NULL : s->arg - 1;
	if (a == NULL || (f->tag == KSF_BINARY && f->size == 0))
		return false;
	switch (f->tag) {
	case KSF_BINARY:
		a->binary = b;
		return true;
	case KSF_ANSWER:
		a->answer = (struct bytes){b.data, b.data == NULL ? (size_t)f->number : b.size};
		return true;
	case KSF_LOG:
		a->log = b;
		return true;
	case KSF_KERNEL:
		if (a->nkernels++ == 0)
			a->kernels = s->kernel;
		*s->kernel++ = (struct kernel_info){.name = b};
		return true;
	case KSF_KERNEL_ATTRIBUTES:
		if (k != NULL)
			k->attributes = b;
		return k != NULL;
	case KSF_ARGUMENT:
		if (k == NULL)
			return false;
		if (k->nargs++ == 0)
			k->args = s->arg;
		*s->arg++ = (struct arg_info){.name = b, .address = f->detail, .qualifiers = f->number};
		return true;
	case KSF_ARGUMENT_TYPE:
		if (arg == NULL)
			return false;
		arg->type = b;
		arg->access = f->detail;
		return true;
	}
	return false;
}

static size_t count(const ksf_message *m, uint32_t tag)
{
	size_t n = 0;
	for (size_t i = 0; i < m->count; i++)
		n += m->fields[i].tag == tag;
	return n;
}

struct artifact *artifacts_of(const ksf_message *m, uint32_t part, cl_uint n)
{
	size_t kernels = count(m, KSF_KERNEL), args = count(m, KSF_ARGUMENT);
	if (count(m, part) != n)
		return NULL;
	struct artifact *all = calloc(1, n * sizeof(*all) + kernels * sizeof(struct kernel_info) + args * sizeof(struct arg_info));
	if (all == NULL)
		return NULL;
	struct space s = {.next = all, .kernel = (struct kernel_info *)(all + n)};
	s.arg = (struct arg_info *)(s.kernel + kernels);
	for (size_t i = 0; i < m->count; i++) {
		if (part == KSF_ENDED && m->fields[i].tag == KSF_STATUS)
			continue;
		if (m->fields[i].tag == part) {
			s.artifact = s.next++;
			s.artifact->kind = part == KSF_PART ? m->fields[i].detail : KSF_FINAL;
		}
		if (m->fields[i].tag == part ? s.artifact->kind > KSF_DEFERRED : !take(&s, &m->fields[i])) {
			free(all);
			return NULL;
		}
	}
	return all;
}

uint32_t reply_take(struct reply *reply, const ksf_step *step, cl_uint n)
{
	free(reply->artifacts);
	*reply = (struct reply){.ticket = step->ticket, .program = step->program, .saved = step->saved, .message = step->message};
	if (step->action == KSF_HIT)
		reply->artifacts = artifacts_of(&step->message, KSF_PART, n);
	if (step->action == KSF_DONE || reply->artifacts != NULL)
		return step->action;
	reply_end(reply);
	return KSF_PASS;
}
