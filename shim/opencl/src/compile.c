/* compile.c: clCompileProgram. What is known to compile is not compiled: a link of it mostly is known too. Where
 * something wants the compiled program itself, it is compiled after all. A unit that reads header files is not:
 * they may be others by then. It is restored from what its compiler made, and a shadow stands for it. */
#include "shim.h"

struct compiled *compiled_use(struct program *p)
{
	state_lock();
	struct compiled *c = p->compiled;
	if (c != NULL)
		c->uses++;
	state_unlock();
	return c;
}

void compiled_unuse(struct compiled *c)
{
	if (c == NULL || --c->uses > 0)
		return;
	library_released(c->id);
	free(c->unit);
	free(c->known);
	free(c);
}

/* Makes it the program's, which takes the use over. NULL: it has none any more. */
static void set_compiled(struct program *p, struct compiled *c)
{
	state_lock();
	struct compiled *old = p->compiled;
	p->compiled = c;
	state_unlock();
	compiled_unuse(old);
}

/* What a compilation is made of, in memory of its own; NULL: not all is known. */
static struct compiled *compiled_new(struct program *p, cl_uint n, const cl_device_id *list, const char *options,
	cl_uint nheaders, const cl_program *headers, const char **names)
{
	struct compiled *c = calloc(1, sizeof(*c) + p->ndevices * sizeof(*c->devices));
	struct message unit = {0};
	bool known = c != NULL && add_unit(&unit, p, options);
	for (cl_uint i = 0; known && i < nheaders; i++)
		known = add_header(&unit, headers[i], names[i]);
	ksf_message *copy = known && !unit.failed ? message_copy(&(ksf_message){unit.fields, unit.count}) : NULL;
	message_free(&unit);
	if (copy == NULL) {
		free(c);
		return NULL;
	}
	const ksf_field *own = message_find(copy, KSF_OPTIONS, 0);
	c->uses = 1;
	c->n = list == NULL ? program_list(p, p->ndevices, p->devices, c->devices) : program_list(p, n, list, c->devices);
	c->unit = copy;
	c->options = own == NULL ? NULL : own->data;
	return c;
}

/* A skipped compilation that is compiled over, for a set of devices: the driver is to have
 * its log, which may show in the next, and what it makes for other devices. */
static void compile_over(struct program *p, uint64_t set)
{
	struct compiled *c = compiled_use(p);
	bool pending = c != NULL && c->pending, logged = false;
	for (cl_uint i = 0; pending && i < c->n; i++)
		logged = logged || has_log(c->known, i);
	bool others = pending && (program_set(p, c->n, c->devices) & ~set) != 0;
	compiled_unuse(c);
	if (logged || others)
		program_compile(p, true);
	else
		set_compiled(p, NULL);
}

/* Has the driver do it, with headers made anew: the application may have let go of those that it gave. */
static cl_int compile_now(struct program *p, const struct compiled *c)
{
	cl_uint n = 0;
	cl_program *headers = calloc(c->unit->count, sizeof(*headers));
	const char **names = calloc(c->unit->count, sizeof(*names));
	cl_int code = headers == NULL || names == NULL ? CL_OUT_OF_HOST_MEMORY : CL_SUCCESS;
	for (const ksf_field *f = c->unit->fields; code == CL_SUCCESS && f < c->unit->fields + c->unit->count; f++) {
		if (f->tag != KSF_HEADER)
			continue;
		const char *text = f[1].data; /* KSF_CODE */
		names[n] = f->data;
		headers[n++] = next.clCreateProgramWithSource(program_context(p), 1, &text, &f[1].size, &code);
	}
	struct arithmetic before;
	library_default_arithmetic(&before); /* as it was when it was skipped */
	if (code == CL_SUCCESS)
		code = driver_compile(handle_of(p), c->n, c->devices, c->options, n, n == 0 ? NULL : headers,
			n == 0 ? NULL : names, NULL, NULL);
	library_arithmetic_back(&before);
	for (cl_uint i = 0; i < n; i++)
		if (headers[i] != NULL)
			next.clReleaseProgram(headers[i]);
	free(headers);
	free(names);
	return code;
}

atomic_uint compilations_late;
atomic_bool units_wanted;

/* After the driver refused what the compiler made: whether the compiler would read the same
 * files as then, for all that the library knows. It is told, too. */
static bool would_be_the_same(const struct compiled *c)
{
	struct reply reply;
	if (!ask(ASK_COMPILE, c->n, c->devices, c->unit, NULL, &reply))
		return false;
	struct message results = {0};
	bool same = true;
	for (cl_uint i = 0; i < c->n && same; i++) {
		ksf_field now = binary_of(&reply.message, i), then = binary_of(c->known, i);
		same = now.data != NULL && now.size == then.size && memcmp(now.data, then.data, now.size) == 0;
		message_result(&results, KSF_REFUSED, CL_INVALID_BINARY, 0);
	}
	if (same)
		reply_next(&reply, c->n, &results);
	message_free(&results);
	reply_end(&reply);
	return same;
}

/* Makes a shadow of what the compiler made of a unit: which header files the unit reads by now makes no difference. */
static cl_int restore_object(struct program *p, struct compiled *c)
{
	ksf_field binaries[64] = {0};
	cl_int status[64], code;
	cl_context context = program_context(p);
	if (context == NULL)
		return CL_OUT_OF_HOST_MEMORY;
	for (cl_uint i = 0; i < c->n; i++)
		binaries[i] = binary_of(c->known, i);
	cl_program handle = of_binaries(context, c->n, c->devices, binaries, status, &code);
	if (handle == NULL)
		return code == CL_SUCCESS ? CL_OUT_OF_HOST_MEMORY : code;
	bool good = code == CL_SUCCESS;
	for (cl_uint i = 0; i < c->n; i++)
		good = good && status[i] == CL_SUCCESS;
	struct shadow *s = good ? shadow_new(handle, c->n, c->devices, c->known, c->options, true) : NULL;
	if (s == NULL) {
		next.clReleaseProgram(handle);
		return good ? CL_OUT_OF_HOST_MEMORY : CL_INVALID_BINARY;
	}
	s->context = context;
	program_set_shadow(p, s, 0);
	return CL_SUCCESS;
}

cl_int program_compile(struct program *p, bool forget)
{
	cl_int code = CL_SUCCESS;
	struct compiled *c = compiled_use(p);
	bool pending = false;
	if (c != NULL) {
		state_claim(&c->doing);
		pending = c->pending;
		if (!pending)
			state_release(&c->doing);
	}
	if (forget)
		set_compiled(p, NULL);
	if (!pending) {
		compiled_unuse(c);
		return CL_SUCCESS;
	}
	/* What is forgotten is compiled for its log alone. */
	bool restored = c->id != 0 && !forget;
	if (restored) {
		code = restore_object(p, c);
		if (blames_binary(code) && would_be_the_same(c)) {
			restored = false;
			code = CL_SUCCESS;
		}
	}
	if (!restored) {
		uint64_t start = nanoseconds();
		compile_now(p, c);
		atomic_fetch_add(&compilations_late, 1);
		struct message m = {0}; /* what counted as saved was not */
		message_number(&m, KSF_COMPILED_LATE, 0, nanoseconds() - start);
		message_number(&m, KSF_SAVED, 0, c->saved);
		library_told(&m);
		p->built |= program_set(p, c->n, c->devices);
	}
	c->pending = code != CL_SUCCESS;
	state_release(&c->doing);
	compiled_unuse(c);
	return code;
}

/* The answer of what is known: false where there is none. */
static bool answer_known(const struct compiled *c, cl_device_id device, cl_program_build_info what, size_t room, void *to,
	size_t *size_ret, cl_int *code)
{
	static const cl_build_status status = CL_BUILD_SUCCESS;
	static const cl_program_binary_type type = CL_PROGRAM_BINARY_TYPE_COMPILED_OBJECT;
	int i = index_of(device, c->n, c->devices);
	const ksf_field *log = i < 0 ? NULL : of_device(c->known, (cl_uint)i, KSF_LOG);
	if (i >= 0 && what == CL_PROGRAM_BUILD_STATUS)
		*code = answer(&status, sizeof(status), room, to, size_ret);
	else if (i >= 0 && what == CL_PROGRAM_BINARY_TYPE)
		*code = answer(&type, sizeof(type), room, to, size_ret);
	else if (log != NULL && what == CL_PROGRAM_BUILD_LOG)
		*code = answer_text(log, room, to, size_ret);
	else
		return false;
	return true;
}

bool pending_build_info(struct program *p, cl_device_id device, cl_program_build_info what, size_t room, void *to,
	size_t *size_ret, cl_int *code)
{
	struct compiled *c = compiled_use(p);
	bool pending = c != NULL && c->pending;
	bool answered = pending && answer_known(c, device, what, room, to, size_ret, code);
	compiled_unuse(c);
	if (!pending || answered)
		return answered;
	*code = program_compile(p, false);
	return *code != CL_SUCCESS;
}

/* Whether the library knows what the compiler made: of a unit that reads files. */
static bool are_objects(const ksf_message *m, cl_uint n)
{
	for (cl_uint i = 0; i < n; i++)
		if (binary_of(m, i).size <= 1)
			return false;
	return true;
}

/* Whether the driver takes back what it gave of a compiled program. */
static bool are_taken_back(struct program *p, const struct compiled *c, const struct message *results)
{
	ksf_field binaries[64] = {0};
	cl_int status[64], code;
	cl_uint n = 0;
	for (size_t i = 0; i < results->count && n < c->n; i++)
		if (results->fields[i].tag == KSF_BINARY)
			binaries[n++] = results->fields[i];
	cl_program handle = n == c->n ? of_binaries(program_context(p), n, c->devices, binaries, status, &code) : NULL;
	bool taken = handle != NULL && code == CL_SUCCESS;
	for (cl_uint i = 0; i < n; i++) {
		cl_program_binary_type type = CL_PROGRAM_BINARY_TYPE_NONE;
		taken = taken && status[i] == CL_SUCCESS && next.clGetProgramBuildInfo(handle, c->devices[i], CL_PROGRAM_BINARY_TYPE,
			sizeof(type), &type, NULL) == CL_SUCCESS && type == CL_PROGRAM_BINARY_TYPE_COMPILED_OBJECT;
	}
	if (handle != NULL)
		next.clReleaseProgram(handle);
	return taken;
}

/* Adds what the driver's compilation made: with the compiled objects, if they are wanted and it gives them. */
static void add_compiled(struct message *m, struct program *p, const struct compiled *c, const ksf_message *known, cl_int code,
	uint64_t took)
{
	/* What was there, and was compiled nevertheless, is stored. */
	bool wanted = code == CL_SUCCESS && holes_of(known, c->n) > 0 && kind_of(known) != KSF_DEFERRED;
	bool built = add_results(m, handle_of(p), c->n, c->devices, code, took, wanted ? WITH_BINARIES : WITH_LOG);
	if (!wanted || (built && are_taken_back(p, c, m)))
		return;
	message_free(m);
	add_results(m, handle_of(p), c->n, c->devices, code, took, WITH_LOG);
}

static cl_int compile(struct program *p, struct compiled *c, cl_uint n, const cl_device_id *list, const char *options,
	cl_uint nheaders, const cl_program *headers, const char **names, notify_fn notify, void *user_data)
{
	struct reply reply = {0};
	bool found = ask(ASK_COMPILE, c->n, c->devices, c->unit, NULL, &reply);
	/* Of several devices some may be compiled for again, and the others need what the driver
	 * made; it is not made later of files that may be others by then. */
	bool objects = found && are_objects(&reply.message, c->n);
	bool wanted = atomic_load(&units_wanted) || (objects && p->ndevices > 1);
	if (found && !wanted && holes_of(&reply.message, c->n) == 0)
		c->known = message_copy(&reply.message);
	bool skipped = c->known != NULL;
	cl_int code = CL_SUCCESS;
	struct message results = {0};
	if (skipped) {
		for (cl_uint i = 0; i < c->n; i++)
			message_result(&results, KSF_RESTORED, CL_SUCCESS, 0);
		/* Without an answer it is not known whether it reads files; without what was
		 * made of them it could not be done later; nor for one of several devices. */
		uint32_t action = reply_next(&reply, c->n, &results);
		uint64_t id = reply.program;
		skipped = action == KSF_DONE && (id == 0 || (objects && p->ndevices == 1));
		found = false;
		c->pending = skipped;
		c->saved = reply.saved;
		if (skipped)
			c->id = id;
		else
			library_released(id); /* the driver may find other files */
	}
	if (!skipped) {
		/* A compilation that calls back may go on for longer than the call. */
		p->built |= program_set(p, c->n, c->devices);
		uint64_t start = nanoseconds();
		code = driver_compile(handle_of(p), n, list, options, nheaders, headers, names, notify, user_data);
		if (found && notify == NULL) {
			add_compiled(&results, p, c, &reply.message, code, nanoseconds() - start);
			if (reply_next(&reply, c->n, &results) == KSF_DONE)
				c->id = reply.program;
		}
	}
	reply_end(&reply);
	if (code == CL_SUCCESS)
		set_compiled(p, c);
	else
		compiled_unuse(c);
	if (skipped && notify != NULL)
		notify(handle_of(p), user_data);
	return code;
}

cl_int CL_API_CALL ks_clCompileProgram(cl_program handle, cl_uint n, const cl_device_id *list, const char *options,
	cl_uint nheaders, const cl_program *headers, const char **names, notify_fn notify, void *user_data)
{
	struct program *p = program_get(handle);
	if (p == NULL)
		return driver_compile(handle, n, list, options, nheaders, headers, names, notify, user_data);
	/* Where the arguments are wrong, or a program is not one of code, nothing is compiled, and what there is stays. */
	bool are_headers = (nheaders == 0) == (headers == NULL) && (nheaders == 0) == (names == NULL);
	uint64_t set = are_headers ? arguments(p, n, list, notify, user_data) : 0;
	if (p->kind == 0)
		set = 0;
	struct shadow *s = program_shadow(p);
	bool kernels = p->kernels > 0;
	cl_int code;
	if (s != NULL && kernels) {
		/* As for a build: the shadow has the kernels. */
		code = set != 0 ? CL_INVALID_OPERATION
						: driver_compile(s->handle, n, list, options, nheaders, headers, names, notify, user_data);
		shadow_put(s);
		program_put(p);
		return code;
	}
	shadow_put(s);
	if (set != 0) {
		build_others_late(p, set);
		program_set_shadow(p, NULL, 0);
		compile_over(p, set);
	}
	uint64_t before = p->built;
	/* A program of which the driver has built something keeps logs of it. */
	struct compiled *c = NULL;
	bool open = library();
	if (set != 0 && !kernels && before == 0 && p->unknown == NULL && open && library_arithmetic() == NULL)
		c = compiled_new(p, n, list, options, nheaders, headers, names);
	if (c == NULL && set != 0)
		p->built |= set;
	int cancel = library_uncancelled();
	code = c != NULL ? compile(p, c, n, list, options, nheaders, headers, names, notify, user_data)
					 : driver_compile(handle, n, list, options, nheaders, headers, names, notify, user_data);
	/* Wrong in our eyes, and right in the driver's. */
	if (set == 0 && (code == CL_SUCCESS || refused_by_the_compiler(code))) {
		program_taken_over(p);
		set_compiled(p, NULL);
	}
	program_put(p);
	library_cancelled(cancel);
	return code;
}
