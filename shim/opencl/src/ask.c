/* ask.c: what the library is asked before a build, what it says of a program, and is told. */
#include "shim.h"

struct library_front library_layer = {.runtime = "opencl"};

bool library(void) { return !in_own_call() && library_open(&library_layer) != NULL; }

void layer_passed(const char *reason) { library_passed(&library_layer, 0, reason); }

void library_told(struct message *m) { library_tell(&library_layer, 0, m); }

void library_released(uint64_t program)
{
	struct message m = {0};
	if (program == 0)
		return;
	message_number(&m, KSF_RELEASED, 0, program);
	library_told(&m);
}

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

ksf_field binary_of(const ksf_message *m, cl_uint device)
{
	const ksf_field *f = of_device(m, device, KSF_BINARY);
	return f == NULL ? (ksf_field){0} : *f;
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

/* Takes a step as the reply for n devices: KSF_PASS where it makes no sense. */
static uint32_t reply_take(struct reply *reply, const ksf_step *step, cl_uint n)
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
	return reply_take(reply, &step, n);
}

void reply_end(struct reply *reply)
{
	library_end(&library_layer, reply->ticket);
	memset(reply, 0, sizeof(*reply));
}

cl_platform_id platform_of(cl_device_id device)
{
	cl_platform_id platform = NULL;
	cl_int code = next.clGetDeviceInfo(device, CL_DEVICE_PLATFORM, sizeof(platform), &platform, NULL);
	return code == CL_SUCCESS ? platform : NULL;
}

cl_context program_context(const struct program *p)
{
	cl_context context = NULL;
	cl_int code = next.clGetProgramInfo(handle_of(p), CL_PROGRAM_CONTEXT, sizeof(context), &context, NULL);
	return code == CL_SUCCESS ? context : NULL;
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
	return reply_take(reply, &step, n) == KSF_HIT;
}
