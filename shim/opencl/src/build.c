/* build.c: clBuildProgram. */
#include "shim.h"

/* One build for which the library has given a ticket. */
struct build {
	struct program *program; /* pinned */
	struct reply reply;
	cl_uint n;
	cl_device_id devices[64];
	uint64_t start;
	notify_fn notify;
	void *user_data;
	atomic_bool finished;
	atomic_uint references;
};

static void build_put(struct build *b)
{
	if (atomic_fetch_sub(&b->references, 1) != 1)
		return;
	program_put(b->program);
	reply_end(&b->reply);
	free(b);
}

/* Says how the build ended; returns the library's name for the program. */
static uint64_t tell(struct build *b, struct message *results)
{
	return reply_next(&b->reply, b->n, results) == KSF_DONE ? b->reply.program : 0;
}

/* The driver has built; only the first call does something. */
static void finish(struct build *b, cl_int code)
{
	if (atomic_exchange(&b->finished, true))
		return;
	bool deferred = kind_of(&b->reply.message) == KSF_DEFERRED;
	struct message results = {0};
	add_results(&results, handle_of(b->program), b->n, b->devices, code, nanoseconds() - b->start,
		deferred ? WITH_NAMES : WITH_BINARIES);
	uint64_t id = tell(b, &results);
	reply_end(&b->reply);
	program_set_shadow(b->program, NULL, id);
	b->program->pending = false;
}

/* The driver calls this in the application's stead, in its own way: within the build call or later, in any thread. */
static void CL_CALLBACK called_back(cl_program handle, void *argument)
{
	struct build *b = argument;
	cl_int code = CL_SUCCESS;
	for (cl_uint i = 0; i < b->n; i++)
		if (build_status(handle, b->devices[i]) != CL_BUILD_SUCCESS)
			code = CL_BUILD_PROGRAM_FAILURE;
	finish(b, code);
	notify_fn notify = b->notify;
	void *user_data = b->user_data;
	build_put(b);
	notify(handle, user_data);
}

/* The driver's build, in the application's program, with its own arguments. */
static cl_int build_all(struct build *b, cl_uint n, const cl_device_id *list, const char *options, uint64_t set)
{
	cl_program handle = handle_of(b->program);
	cl_int code;
	b->start = nanoseconds();
	b->program->built |= set;
	b->program->pending = b->notify != NULL;
	state_release(&b->program->building); /* the driver has its own order from here on */
	if (b->notify == NULL) {
		code = driver_build(handle, n, list, options, NULL, NULL);
		finish(b, code);
		return code;
	}
	atomic_fetch_add(&b->references, 1);
	code = driver_build(handle, n, list, options, called_back, b);
	/* An error without a call back: there may be none, or it may come yet; its reference is left to it. */
	if (code != CL_SUCCESS)
		finish(b, code);
	return code;
}

/* Has the driver build without the cache, with the application's arguments; set is 0 where those are wrong. */
static cl_int build_plainly(struct program *p, cl_uint n, const cl_device_id *list, const char *options, notify_fn notify,
	void *user_data, uint64_t set)
{
	if (set != 0) {
		program_set_shadow(p, NULL, 0);
		p->built |= set;
	}
	cl_int code = driver_build(handle_of(p), n, list, options, notify, user_data);
	/* Wrong in our eyes, and right in the driver's. */
	if (set == 0 && (code == CL_SUCCESS || refused_by_the_compiler(code)))
		program_taken_over(p);
	return code;
}

/* Restores the program from binaries, and adds how that ended: false where the driver refused. */
static bool restore_all(struct build *b, const ksf_message *m, const char *options, struct message *results)
{
	cl_context context = program_context(b->program);
	/* The record comes first: behind what the driver takes for its program it would keep the C library from
	 * giving that back to the system. */
	struct shadow *s = context == NULL ? NULL : shadow_new(NULL, b->n, b->devices, m, options, false);
	cl_program handle = s == NULL ? NULL : restore(context, b->n, b->devices, m, options, results);
	if (handle != NULL) {
		s->handle = handle;
		s->context = context;
		program_set_shadow(b->program, s, 0);
		return true;
	}
	if (s == NULL)
		add_results(results, NULL, b->n, b->devices, CL_OUT_OF_HOST_MEMORY, 0, WITH_LOG);
	shadow_put(s);
	return false;
}

/* Adds the fields from one on, up to the next of a tag; returns where that is. */
static size_t add_part(struct message *to, const ksf_message *from, size_t at, uint32_t tag)
{
	do
		message_add(to, from->fields[at++]);
	while (at < from->count && from->fields[at].tag != tag);
	return at;
}

/* Builds for the devices that are missing, what of is in made, and restores a program of these
 * and those that are there: false where that does not go smoothly. */
static bool complete(struct build *b, const char *options, struct message *made, struct message *results)
{
	struct program *p = b->program;
	const ksf_message *there = &b->reply.message;
	cl_device_id holes[64];
	cl_uint missing = 0;
	for (cl_uint i = 0; i < b->n; i++)
		if (of_device(there, i, KSF_BINARY) == NULL)
			holes[missing++] = b->devices[i];
	uint64_t start = nanoseconds();
	cl_int code = driver_build(handle_of(p), missing, holes, options, NULL, NULL);
	uint64_t took = nanoseconds() - start;
	p->built |= program_set(p, missing, holes);
	bool built = add_results(made, handle_of(p), missing, holes, code, took, WITH_BINARIES) && !made->failed;
	/* A message as if all had been there; what was made begins with how it ended, two fields. */
	struct message all = {0}, ended = {0};
	const ksf_message now = {made->fields, made->count};
	for (size_t i = 0, at = 0, hole = 0; built && i < b->n; i++) {
		bool is_hole = of_device(there, (cl_uint)i, KSF_BINARY) == NULL;
		at = add_part(&all, there, at, KSF_PART);
		if (is_hole)
			hole = add_part(&all, &now, hole + 2, KSF_ENDED);
	}
	bool restored = built && !all.failed && restore_all(b, &(ksf_message){all.fields, all.count}, options, &ended);
	for (size_t i = 0, hole = 0; ended.count > 0 && !ended.failed && i < b->n; i++) {
		if (of_device(there, (cl_uint)i, KSF_BINARY) == NULL)
			hole = add_part(results, &now, hole, KSF_ENDED);
		else
			add_part(results, &(ksf_message){ended.fields, ended.count}, 2 * i, KSF_ENDED);
	}
	if (ended.count == 0)
		add_results(results, NULL, b->n, b->devices, CL_OUT_OF_HOST_MEMORY, 0, WITH_LOG); /* given up */
	results->failed = results->failed || ended.failed;
	message_free(&all);
	message_free(&ended);
	return restored;
}

/* Has the library asked for the answers that a reply left out, by its name for the program; false: there are none. */
static bool asks_for_answers(struct shadow *s, uint64_t id)
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

/* The rounds between the library and the driver. */
static cl_int serve(struct build *b, cl_uint n, const cl_device_id *list, const char *options, uint64_t set)
{
	struct program *p = b->program;
	for (int round = 0; round < 3 && b->reply.hit; round++) {
		cl_uint holes = holes_of(&b->reply.message, b->n);
		bool deferred = kind_of(&b->reply.message) == KSF_DEFERRED;
		/* A deferring driver gives no binary for the missing now. */
		if (holes == b->n || (holes > 0 && deferred))
			return build_all(b, n, list, options, set);
		struct message results = {0}, made = {0};
		bool restored = holes == 0 ? restore_all(b, &b->reply.message, options, &results) : complete(b, options, &made, &results);
		uint64_t id = tell(b, &results);
		message_free(&made);
		if (restored) {
			state_lock();
			p->id = p->shadow != NULL && asks_for_answers(p->shadow, id) ? 0 : id;
			state_unlock();
			reply_end(&b->reply);
			state_release(&p->building);
			if (b->notify != NULL)
				b->notify(handle_of(p), b->user_data);
			return CL_SUCCESS;
		}
	}
	reply_end(&b->reply);
	state_release(&p->building);
	return build_plainly(p, n, list, options, b->notify, b->user_data, set);
}

uint64_t arguments(struct program *p, cl_uint n, const cl_device_id *list, notify_fn notify, const void *user_data)
{
	if (n > 64 || (n == 0) != (list == NULL) || (notify == NULL && user_data != NULL) || !program_devices(p))
		return 0;
	return list == NULL ? program_set(p, p->ndevices, p->devices) : program_set(p, n, list);
}

bool build_others_late(struct program *p, uint64_t set)
{
	struct shadow *s = program_shadow(p);
	uint64_t before = p->built | (s == NULL ? 0 : program_set(p, s->ndevices, s->devices));
	bool others = (before & ~set) != 0;
	if (others && s != NULL)
		program_build_late(p);
	shadow_put(s);
	return others;
}

/* Some drivers keep the last build's log where the next has none, or append to it: then the driver is to have all. */
static bool was_logged(struct program *p)
{
	struct shadow *s = program_shadow(p);
	bool logged = false;
	for (cl_uint i = 0; s != NULL && i < s->ndevices; i++)
		logged = logged || has_log(s->kept, i);
	if (logged)
		program_build_late(p);
	shadow_put(s);
	bool built = p->built != 0;
	for (cl_uint i = 0; built && !logged && i < p->ndevices; i++) {
		size_t size = 0;
		logged = next.clGetProgramBuildInfo(handle_of(p), p->devices[i], CL_PROGRAM_BUILD_LOG, 0, NULL, &size) == CL_SUCCESS &&
			size > 1;
	}
	return logged;
}

static cl_int build(struct program *p, cl_uint n, const cl_device_id *list, const char *options, notify_fn notify,
	void *user_data)
{
	uint64_t set = arguments(p, n, list, notify, user_data);
	struct shadow *s = program_shadow(p);
	bool kernels = p->kernels > 0, pending = p->pending;
	/* The kernels are the shadow's, which also tells what fault the driver finds first with wrong arguments. */
	if (kernels && s != NULL) {
		cl_int code = set != 0 ? CL_INVALID_OPERATION : driver_build(s->handle, n, list, options, notify, user_data);
		shadow_put(s);
		return code;
	}
	shadow_put(s);
	/* Devices that are not the program's: a driver may take them nevertheless. */
	if (set == 0 && list != NULL && n > 0)
		program_build_late(p);
	if (set == 0 || kernels)
		return build_plainly(p, n, list, options, notify, user_data, set);
	const char *reason = p->unknown;
	if (reason == NULL)
		reason = library_arithmetic();
	bool others = build_others_late(p, set); /* with other options, maybe: the driver is to have all of it */
	if (others && reason == NULL)
		reason = "build for one device after another";
	program_compile(p, true);
	if (reason == NULL && was_logged(p))
		reason = "build after a build with a log";
	if (reason == NULL && pending)
		reason = "build during a build";
	if (!library())
		reason = "";
	if (reason != NULL) {
		if (*reason != 0)
			layer_passed(reason);
		return build_plainly(p, n, list, options, notify, user_data, set);
	}

	struct message unit = {0};
	struct reply reply;
	cl_device_id devices[64];
	cl_uint ndevices = list == NULL ? program_list(p, p->ndevices, p->devices, devices) : program_list(p, n, list, devices);
	state_claim(&p->building);
	program_set_shadow(p, NULL, 0); /* what was built before is void */
	bool found = false;
	if (add_unit(&unit, p, NULL) && !unit.failed)
		found = ask(ASK_BUILD, ndevices, devices, &(ksf_message){unit.fields, unit.count}, options, &reply);
	else
		layer_passed("source that the driver does not give back");
	message_free(&unit);
	/* Not before the library was asked: with the record made earlier, each heavy hit of Intel's driver
	 * has 630 page faults instead of 100, and takes 1.8 times the driver's own instead of 1.2. */
	struct build *b = found ? calloc(1, sizeof(*b)) : NULL;
	if (b == NULL) {
		if (found)
			reply_end(&reply);
		state_release(&p->building);
		return build_plainly(p, n, list, options, notify, user_data, set);
	}
	*b = (struct build){.program = p, .reply = reply, .n = ndevices, .notify = notify, .user_data = user_data};
	atomic_init(&b->references, 1);
	memcpy(b->devices, devices, ndevices * sizeof(*devices));
	p->entry.pins++;
	cl_int code = serve(b, n, list, options, set);
	build_put(b);
	return code;
}

cl_int CL_API_CALL ks_clBuildProgram(cl_program handle, cl_uint n, const cl_device_id *list, const char *options,
	notify_fn notify, void *user_data)
{
	struct program *p = program_get(handle);
	if (p == NULL)
		return driver_build(handle, n, list, options, notify, user_data);
	int before = library_uncancelled();
	cl_int code = build(p, n, list, options, notify, user_data);
	program_put(p);
	library_cancelled(before);
	return code;
}
