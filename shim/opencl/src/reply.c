/* reply.c: what the library says of a program, and is told. */
#include "shim.h"

#include <stdlib.h>
#include <string.h>

static void add_bytes(struct message *m, uint32_t tag, struct bytes b)
{
	if (b.data != NULL)
		message_add(m, (ksf_field){.tag = tag, .data = b.data, .size = b.size});
}

static void add_artifact(struct message *m, const struct artifact *a)
{
	add_bytes(m, KSF_BINARY, a->binary);
	add_bytes(m, KSF_LOG, a->log);
	for (uint32_t i = 0; i < a->nkernels; i++) {
		const struct kernel_info *k = &a->kernels[i];
		message_add(m, (ksf_field){.tag = KSF_KERNEL, .data = k->name.data, .size = k->name.size});
		add_bytes(m, KSF_KERNEL_ATTRIBUTES, k->attributes);
		for (uint32_t j = 0; j < k->nargs; j++) {
			const struct arg_info *arg = &k->args[j];
			message_add(m, (ksf_field){.tag = KSF_ARGUMENT, .detail = arg->address, .number = arg->qualifiers,
				.data = arg->name.data, .size = arg->name.size});
			message_add(m, (ksf_field){.tag = KSF_ARGUMENT_TYPE, .detail = arg->access, .data = arg->type.data,
				.size = arg->type.size});
		}
	}
}

uint32_t reply_next(struct reply *reply, cl_uint n, const struct outcome *outcomes)
{
	struct message m = {0};
	ksf_step step;
	for (cl_uint i = 0; i < n; i++) {
		message_result(&m, outcomes[i].result, outcomes[i].code, outcomes[i].nanoseconds);
		if (outcomes[i].result == KSF_BUILT || outcomes[i].result == KSF_FAILED)
			add_artifact(&m, &outcomes[i].artifact);
	}
	library_next(&library_layer, reply->ticket, &m, &step);
	message_free(&m);
	return reply_take(reply, &step, n);
}

void reply_end(struct reply *reply)
{
	library_end(&library_layer, reply->ticket);
	free(reply->artifacts);
	memset(reply, 0, sizeof(*reply));
}

/* Where the next kernel and argument are to be. */
struct space {
	struct artifact *artifact; /* NULL: before the first */
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

/* Reads what is stored for n devices. */
static bool take_all(struct reply *reply, const ksf_message *m, cl_uint n)
{
	size_t kernels = count(m, KSF_KERNEL), args = count(m, KSF_ARGUMENT);
	if (count(m, KSF_PART) != n)
		return false;
	reply->artifacts = calloc(1, n * sizeof(struct artifact) + kernels * sizeof(struct kernel_info) + args * sizeof(struct arg_info));
	if (reply->artifacts == NULL)
		return false;
	struct space s = {.kernel = (struct kernel_info *)(reply->artifacts + n)};
	s.arg = (struct arg_info *)(s.kernel + kernels);
	for (size_t i = 0; i < m->count; i++) {
		const ksf_field *f = &m->fields[i];
		if (f->tag != KSF_PART) {
			if (!take(&s, f))
				return false;
			continue;
		}
		if (f->detail > KSF_DEFERRED)
			return false;
		s.artifact = &reply->artifacts[reply->nartifacts++];
		s.artifact->kind = f->detail;
	}
	return true;
}

uint32_t reply_take(struct reply *reply, const ksf_step *step, cl_uint n)
{
	free(reply->artifacts);
	*reply = (struct reply){.ticket = step->ticket, .program = step->program, .saved = step->saved};
	if (step->action == KSF_DONE || (step->action == KSF_HIT && take_all(reply, &step->message, n)))
		return step->action;
	reply_end(reply);
	return KSF_PASS;
}
