/*
 * compile.c: clCompileProgram. What is known to compile is not compiled: a link
 * of it mostly is known too. Whatever looks at the compiled program other than
 * a link has it compiled after all.
 */
#include "shim.h"

#include <stdlib.h>
#include <string.h>

static void compiled_free_one(struct compiled *c)
{
	if (c->id != 0)
		library_released(c->id);
	for (uint32_t i = 0; c->headers != NULL && i < c->nheaders; i++) {
		free((void *)c->headers[i].name.data);
		free((void *)c->headers[i].code.data);
	}
	for (cl_uint i = 0; c->known != NULL && i < c->n; i++)
		free((void *)c->known[i].log.data);
	free(c->headers);
	free(c->known);
	free(c->devices);
	free(c->options);
	free(c);
}

void compiled_free(struct compiled *c)
{
	for (struct compiled *older; c != NULL; c = older) {
		older = c->older;
		compiled_free_one(c);
	}
}

/* The text of a program that is given as a header. */
static bool header_of(cl_program handle, const char *name, ksl_header *header)
{
	struct program *p = name == NULL ? NULL : program_get(handle);
	size_t size = 0;
	if (p == NULL)
		return false;
	bool known = p->origin == FROM_SOURCE && p->unknown == NULL;
	char *code = known ? program_text(handle, CL_PROGRAM_SOURCE, &size) : NULL;
	if (code != NULL && size == p->length + 1)
		size--;
	known = code != NULL && size == p->length;
	program_put(p);
	char *copy = known ? strdup(name) : NULL;
	if (copy == NULL) {
		free(code);
		return false;
	}
	*header = (ksl_header){{copy, strlen(copy)}, {code, size}};
	return true;
}

/* What a compilation is made of, in memory of its own; NULL: not all is known. */
static struct compiled *compiled_new(struct program *p, cl_uint n, const cl_device_id *list, const char *options,
	cl_uint nheaders, const cl_program *headers, const char **names)
{
	struct compiled *c = calloc(1, sizeof(*c));
	if (c == NULL || (nheaders > 0 && (headers == NULL || names == NULL))) {
		free(c);
		return NULL;
	}
	c->devices = calloc(p->ndevices, sizeof(*c->devices));
	if (c->devices != NULL)
		c->n = list == NULL ? program_list(p, p->ndevices, p->devices, c->devices) : program_list(p, n, list, c->devices);
	c->options = options == NULL ? NULL : strdup(options);
	c->headers = calloc(nheaders + 1, sizeof(*c->headers));
	c->known = calloc(c->n + 1, sizeof(*c->known));
	bool good = c->devices != NULL && (options == NULL || c->options != NULL) && c->headers != NULL && c->known != NULL;
	for (; good && c->nheaders < nheaders; c->nheaders++)
		good = header_of(headers[c->nheaders], names[c->nheaders], &c->headers[c->nheaders]);
	if (!good) {
		/* The count includes the one that failed, which is empty. */
		compiled_free(c);
		return NULL;
	}
	return c;
}

static void set_compiled(struct program *p, struct compiled *c)
{
	state_lock();
	p->compiled = c;
	if (c != NULL) {
		c->older = p->compilations;
		p->compilations = c;
	}
	state_unlock();
}

static void set_built(struct program *p, uint64_t set)
{
	state_lock();
	p->built |= set;
	state_unlock();
}

/* A skipped compilation that is compiled over: the driver is to have its log,
 * which may show in the next. */
static void compile_over(struct program *p)
{
	state_lock();
	const struct compiled *c = p->compiled;
	bool logged = false;
	for (cl_uint i = 0; c != NULL && c->pending && i < c->n; i++)
		logged = logged || c->known[i].log.size > 0;
	if (c != NULL && !logged)
		p->compiled = NULL;
	state_unlock();
	if (logged)
		program_compile(p, true);
}

/* Has the driver do it, with headers made anew: the application may have let go
 * of those that it gave. */
static cl_int compile_now(struct program *p, const struct compiled *c)
{
	cl_program *headers = calloc(c->nheaders + 1, sizeof(*headers));
	const char **names = calloc(c->nheaders + 1, sizeof(*names));
	cl_int code = headers == NULL || names == NULL ? CL_OUT_OF_HOST_MEMORY : CL_SUCCESS;
	for (uint32_t i = 0; code == CL_SUCCESS && i < c->nheaders; i++) {
		const char *text = c->headers[i].code.data;
		size_t size = c->headers[i].code.size;
		names[i] = c->headers[i].name.data;
		headers[i] = next.clCreateProgramWithSource(program_context(p), 1, &text, &size, &code);
	}
	if (code == CL_SUCCESS)
		code = next.clCompileProgram(handle_of(p), c->n, c->devices, c->options, c->nheaders, c->nheaders == 0 ? NULL : headers,
			c->nheaders == 0 ? NULL : names, NULL, NULL);
	for (uint32_t i = 0; headers != NULL && i < c->nheaders; i++) {
		if (headers[i] != NULL)
			next.clReleaseProgram(headers[i]);
	}
	free(headers);
	free(names);
	return code;
}

bool program_compile(struct program *p, bool forget)
{
	state_lock();
	struct compiled *c = p->compiled;
	while (c != NULL && c->doing) { /* by another thread */
		state_wait();
		c = p->compiled;
	}
	bool pending = c != NULL && c->pending;
	if (pending) {
		c->pending = false;
		c->doing = true;
	}
	if (c != NULL && forget)
		p->compiled = NULL;
	uint64_t used = c == NULL || pending || c->used ? 0 : c->id;
	if (c != NULL)
		c->used = true;
	state_unlock();
	if (used != 0)
		library_unchanged(used); /* may it be skipped the next time? */
	if (pending) {
		compile_now(p, c);
		/* The driver was to read the files as they were when it was skipped. */
		bool stale = c->id != 0 && !library_unchanged(c->id);
		if (stale)
			library_passed("header files that changed since a compilation was skipped");
		set_built(p, program_set(p, c->n, c->devices));
		state_lock();
		c->stale = stale;
		c->doing = false;
		state_wake();
		state_unlock();
	}
	return c == NULL || !c->stale;
}

bool pending_build_info(struct program *p, cl_device_id device, cl_program_build_info what, size_t room, void *to,
	size_t *size_ret, cl_int *code)
{
	static const cl_build_status status = CL_BUILD_SUCCESS;
	static const cl_program_binary_type type = CL_PROGRAM_BINARY_TYPE_COMPILED_OBJECT;
	state_lock();
	const struct compiled *c = p->compiled;
	bool pending = c != NULL && c->pending;
	state_unlock();
	if (!pending)
		return false;
	for (cl_uint i = 0; i < c->n; i++) {
		if (c->devices[i] != device)
			continue;
		switch (what) {
		case CL_PROGRAM_BUILD_STATUS:
			*code = answer(&status, sizeof(status), room, to, size_ret);
			return true;
		case CL_PROGRAM_BINARY_TYPE:
			*code = answer(&type, sizeof(type), room, to, size_ret);
			return true;
		case CL_PROGRAM_BUILD_LOG:
			if (c->known[i].log.data == NULL)
				break;
			*code = answer_text(c->known[i].log, room, to, size_ret);
			return true;
		}
	}
	if (program_compile(p, false))
		return false;
	*code = CL_OUT_OF_RESOURCES;
	return true;
}

/* Takes a compilation as done where the library knows it to succeed. */
static bool skip(struct compiled *c, const ksl_reply *reply)
{
	for (cl_uint i = 0; i < c->n; i++) {
		if (reply->artifacts[i].binary.data == NULL)
			return false;
	}
	for (cl_uint i = 0; i < c->n; i++) {
		ksl_bytes log = reply->artifacts[i].log;
		char *copy = log.data == NULL ? NULL : malloc(log.size + 1);
		if (copy != NULL) {
			memcpy(copy, log.data, log.size);
			copy[log.size] = 0;
			c->known[i].log = (ksl_bytes){copy, log.size};
		}
	}
	c->pending = true;
	return true;
}

static cl_int compile(struct program *p, struct compiled *c, cl_uint n, const cl_device_id *list, const char *options,
	cl_uint nheaders, const cl_program *headers, const char **names, notify_fn notify, void *user_data)
{
	struct unit_text text;
	ksl_unit unit;
	ksl_reply reply;
	const ksl_api *api = NULL;
	if (unit_of(p, &text, &unit)) {
		unit.headers = c->headers;
		unit.nheaders = c->nheaders;
		unit.options = (ksl_bytes){options, options == NULL ? 0 : strlen(options)};
		api = ask(KSL_COMPILE, c->n, c->devices, &unit, 1, NULL, &reply);
		unit_free(&text);
	}
	ksl_outcome *outcomes = calloc(c->n, sizeof(*outcomes));
	struct gathered *gathered = calloc(c->n, sizeof(*gathered));
	bool telling = api != NULL && outcomes != NULL && gathered != NULL;
	bool skipped = telling && skip(c, &reply);
	cl_int code = CL_SUCCESS;
	uint64_t ticket = api == NULL ? 0 : reply.ticket, start = nanoseconds();
	if (skipped) {
		for (cl_uint i = 0; i < c->n; i++)
			outcomes[i].result = KSL_RESTORED;
		/* Without an answer it could not be done later: which files it reads is not
		 * known to anybody then. */
		skipped = library_next(api, ticket, c->n, outcomes, &reply) == KSL_DONE;
		c->pending = skipped;
		telling = false;
		if (skipped)
			c->id = reply.program;
	}
	if (!skipped) {
		/* A compilation that calls back may go on for longer than the call. */
		set_built(p, program_set(p, c->n, c->devices));
		code = next.clCompileProgram(handle_of(p), n, list, options, nheaders, headers, names, notify, user_data);
	}
	if (telling && !skipped && notify == NULL) {
		outcomes_of(handle_of(p), c->n, c->devices, reply.artifacts, code, nanoseconds() - start, false, gathered, outcomes);
		if (library_next(api, ticket, c->n, outcomes, &reply) == KSL_DONE)
			c->id = reply.program;
	}
	if (gathered != NULL)
		gathered_free(c->n, gathered);
	free(gathered);
	free(outcomes);
	if (api != NULL)
		library_end(api, ticket);
	if (code == CL_SUCCESS)
		set_compiled(p, c);
	else
		compiled_free(c);
	if (skipped && notify != NULL)
		notify(handle_of(p), user_data);
	return code;
}

cl_int CL_API_CALL ks_clCompileProgram(cl_program handle, cl_uint n, const cl_device_id *list, const char *options,
	cl_uint nheaders, const cl_program *headers, const char **names, notify_fn notify, void *user_data)
{
	struct program *p = program_get(handle);
	if (p == NULL)
		return next.clCompileProgram(handle, n, list, options, nheaders, headers, names, notify, user_data);
	uint64_t set = arguments(p, n, list, notify, user_data);
	struct shadow *s = program_shadow(p);
	state_lock();
	bool kernels = p->kernels > 0;
	state_unlock();
	cl_int code;
	if (s != NULL && kernels) {
		/* As for a build: the shadow has the kernels. */
		code = set != 0 ? CL_INVALID_OPERATION
						: next.clCompileProgram(s->handle, n, list, options, nheaders, headers, names, notify, user_data);
		shadow_put(s);
		program_put(p);
		return code;
	}
	shadow_put(s);
	if (set != 0) {
		program_set_shadow(p, NULL, 0);
		compile_over(p);
	}
	uint64_t before = program_built(p);
	/* A program of which the driver has built something keeps logs of it. */
	struct compiled *c = NULL;
	if (set != 0 && !kernels && before == 0 && p->unknown == NULL && !stepped_aside() && library() != NULL)
		c = compiled_new(p, n, list, options, nheaders, headers, names);
	if (c == NULL && set != 0)
		set_built(p, set);
	code = c != NULL ? compile(p, c, n, list, options, nheaders, headers, names, notify, user_data)
					 : next.clCompileProgram(handle, n, list, options, nheaders, headers, names, notify, user_data);
	program_put(p);
	return code;
}
