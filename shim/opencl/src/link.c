/* link.c: clLinkProgram of programs that were compiled of known parts. */
#include "shim.h"

/* Adds what an input of a link was compiled of. false: something about it is unknown. */
static bool add_input(struct message *units, const struct compiled *c, cl_uint n, const cl_device_id *devices)
{
	for (cl_uint i = 0; i < n; i++)
		if (c == NULL || index_of(devices[i], c->n, c->devices) < 0)
			return false;
	for (size_t i = 0; i < c->unit->count; i++) {
		ksf_field f = c->unit->fields[i];
		if (f.tag == KSF_UNIT)
			f.number = c->id;
		message_add(units, f);
	}
	return true;
}

struct link {
	cl_context context;
	cl_uint n, ndevices, ninputs;
	const cl_device_id *list; /* the application's, or NULL */
	cl_device_id devices[64];
	const char *options;
	const cl_program *inputs;
	cl_int code;
	uint64_t took; /* the driver, for the link alone */
};

/* The driver's link, of inputs that it has compiled by now. */
static cl_program link_now(struct link *l, notify_fn notify, void *user_data)
{
	cl_uint n = l->inputs == NULL ? 0 : l->ninputs;
	cl_program *inputs = calloc((size_t)n + 1, sizeof(*inputs)), handle = NULL;
	struct shadow **objects = calloc((size_t)n + 1, sizeof(struct shadow *));
	l->code = inputs == NULL || objects == NULL ? CL_OUT_OF_HOST_MEMORY : CL_SUCCESS;
	for (cl_uint i = 0; l->code == CL_SUCCESS && i < n; i++) {
		inputs[i] = l->inputs[i];
		struct program *p = program_get(l->inputs[i]);
		if (p == NULL)
			continue;
		l->code = program_compile(p, false);
		/* What was restored is unbuilt in the driver, which would find another fault with it otherwise. */
		program_build_late(p);
		struct shadow *s = program_shadow(p);
		if (s != NULL && s->is_object)
			inputs[i] = s->handle;
		objects[i] = s;
		program_put(p);
	}
	uint64_t start = nanoseconds();
	if (l->code == CL_SUCCESS)
		handle = driver_link(l->context, l->n, l->list, l->options, l->ninputs, l->inputs == NULL ? NULL : inputs, notify,
			user_data, &l->code);
	l->took = nanoseconds() - start;
	for (cl_uint i = 0; objects != NULL && i < n; i++)
		shadow_put(objects[i]);
	free(inputs);
	free(objects);
	return handle;
}

/* Records a program that the driver linked, or that was restored in its stead, with a shadow. */
static void linked(cl_program handle, struct shadow *s, uint64_t id)
{
	struct program *p = program_add(handle, 0, 0, "link");
	if (s != NULL)
		s->is_program = true;
	if (p == NULL || !program_devices(p))
		shadow_put(s);
	else
		program_set_shadow(p, s, id);
}

/* The rounds between the library and the driver. */
static cl_program serve(struct link *l, struct reply *reply)
{
	cl_program handle = NULL;
	bool done = false;
	for (int round = 0; round < 3 && !done && reply->hit; round++) {
		struct message results = {0};
		struct shadow *s = NULL;
		if (holes_of(&reply->message, l->ndevices) == 0) {
			handle = restore(l->context, l->ndevices, l->devices, &reply->message, l->options, &results);
			done = handle != NULL;
			l->code = CL_SUCCESS;
			if (done)
				s = shadow_new(handle, l->ndevices, l->devices, &reply->message, l->options, false);
		} else {
			handle = link_now(l, NULL, NULL);
			add_results(&results, handle, l->ndevices, l->devices, l->code, l->took,
				kind_of(&reply->message) == KSF_DEFERRED ? WITH_NAMES : WITH_BINARIES);
			done = true;
		}
		uint32_t action = reply_next(reply, l->ndevices, &results);
		linked(handle, s, action == KSF_DONE ? reply->program : 0);
	}
	reply_end(reply);
	if (!done) {
		handle = link_now(l, NULL, NULL);
		linked(handle, NULL, 0);
	}
	return handle;
}

/* The devices of the link; false: they are wrong, or too many. */
static bool devices_of(struct link *l)
{
	size_t size = 0;
	if ((l->n == 0) != (l->list == NULL) || l->n > 64)
		return false;
	l->ndevices = l->n;
	if (l->list != NULL) {
		memcpy(l->devices, l->list, l->n * sizeof(l->devices[0]));
		return true;
	}
	if (next.clGetContextInfo == NULL ||
		next.clGetContextInfo(l->context, CL_CONTEXT_DEVICES, sizeof(l->devices), l->devices, &size) != CL_SUCCESS)
		return false;
	l->ndevices = (cl_uint)(size / sizeof(l->devices[0]));
	return l->ndevices > 0;
}

/* Asks for a link. false: it is not known, or not all inputs are; then there is a reason. */
static bool ask_link(const struct link *l, struct reply *reply, const char **reason)
{
	struct compiled **of = calloc(l->ninputs, sizeof(*of));
	struct message units = {0};
	bool known = of != NULL;
	for (cl_uint i = 0; known && i < l->ninputs; i++) {
		struct program *p = program_get(l->inputs[i]);
		of[i] = p == NULL ? NULL : compiled_use(p);
		known = add_input(&units, of[i], l->ndevices, l->devices);
		program_put(p);
	}
	if (!known || units.failed)
		*reason = "link of unknown inputs";
	const ksf_message all = {units.fields, units.count};
	bool found = *reason == NULL && ask(ASK_LINK, l->ndevices, l->devices, &all, l->options, reply);
	for (cl_uint i = 0; of != NULL && i < l->ninputs; i++)
		compiled_unuse(of[i]);
	free(of);
	message_free(&units);
	return found;
}

cl_program CL_API_CALL ks_clLinkProgram(cl_context context, cl_uint n, const cl_device_id *list, const char *options,
	cl_uint ninputs, const cl_program *inputs, notify_fn notify, void *user_data, cl_int *code)
{
	struct link l = {.context = context, .n = n, .ninputs = ninputs, .list = list, .options = options, .inputs = inputs,
		.code = CL_SUCCESS};
	const char *reason = NULL;
	cl_program handle;
	struct reply reply;
	bool found = false;
	int cancel = library_uncancelled();

	if (!library() || ninputs == 0 || inputs == NULL || !devices_of(&l) || (notify == NULL && user_data != NULL))
		reason = "";
	else if ((reason = library_arithmetic()) != NULL)
		;
	else if (notify != NULL)
		reason = "link that calls back";
	else if (options != NULL && strstr(options, "-create-library") != NULL)
		reason = "library";
	else
		found = ask_link(&l, &reply, &reason);
	if (found) {
		handle = serve(&l, &reply);
	} else {
		if (reason != NULL && *reason != 0)
			layer_passed(reason);
		unsigned before = atomic_load(&compilations_late);
		handle = link_now(&l, notify, user_data);
		if (reason != NULL && *reason != 0 && atomic_load(&compilations_late) != before)
			atomic_store(&units_wanted, true);
		program_add(handle, 0, 0, "link");
	}
	if (code != NULL)
		*code = l.code;
	library_cancelled(cancel);
	return handle;
}
