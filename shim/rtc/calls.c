/*
 * calls.c: the functions that are stood before.
 */
#include "rtc.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

static uint64_t nanoseconds(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* The program's record, or NULL; and the real function, of its library or the caller's. */
static struct rtc_program *find(struct rtc_caller *c, enum rtc_function f, void *program, void **real)
{
	struct rtc_program *p = program == NULL ? NULL : rtc_program_get(program);
	if (p != NULL)
		c->library = p->library;
	*real = rtc_real(c, f);
	return p;
}

static int real_compile(const struct rtc_program *p, unsigned n, const char *const *options)
{
	rtc_compile_fn compile;
	*(void **)&compile = p->library->real[RTC_COMPILE];
	return compile(p->handle, (int)n, options);
}

/* Compiles what was only answered for: something is asked that the answers do not hold.
 * The program is locked. Names that were given out stay. */
static void settle(struct rtc_program *p)
{
	if (!p->served)
		return;
	p->served = false;
	p->compiled = true;
	rtc_passed(p->library->api, "asked for what is not stored");
	struct arithmetic before;
	library_default_arithmetic(&before); /* as it was when it was served */
	real_compile(p, p->noptions, (const char *const *)p->options);
	library_arithmetic_back(&before);
}

int rtc_create(struct rtc_caller c, void **program, const char *source, const char *name, int nheaders,
	const char *const *headers, const char *const *includes)
{
	struct rtc_library *l = rtc_stepped_aside() ? NULL : rtc_library_for(&c);
	rtc_create_fn create;
	*(void **)&create = l != NULL ? l->real[RTC_CREATE] : rtc_real(&c, RTC_CREATE);
	if (create == NULL)
		return c.api->broken;
	int code = create(program, source, name, nheaders, headers, includes);
	if (code != 0 || l == NULL || program == NULL || *program == NULL || source == NULL)
		return code;
	if (nheaders > 0 && (headers == NULL || includes == NULL))
		return code;
	rtc_program_add(l, *program, source, name, nheaders, headers, includes);
	return code;
}

int rtc_destroy(struct rtc_caller c, void **program)
{
	struct rtc_program *p = program == NULL || *program == NULL ? NULL : rtc_program_take(*program);
	rtc_destroy_fn destroy;
	if (p != NULL)
		c.library = p->library;
	*(void **)&destroy = rtc_real(&c, RTC_DESTROY);
	int code = destroy == NULL ? c.api->broken : destroy(program);
	if (p == NULL)
		return code;
	if (code != 0)
		rtc_program_back(p);
	else
		rtc_program_put(p);
	return code;
}

int rtc_add(struct rtc_caller c, void *program, const char *expression)
{
	rtc_add_fn add;
	struct rtc_program *p = find(&c, RTC_ADD, program, (void **)&add);
	if (p == NULL)
		return add == NULL ? c.api->broken : add(program, expression);
	rtc_program_lock(p);
	settle(p);
	int code = add == NULL ? c.api->broken : add(program, expression);
	if (code == 0 && expression != NULL) {
		char *own = strdup(expression);
		char **all = own == NULL ? NULL : realloc(p->expressions, (p->nexpressions + 1) * sizeof *all);
		if (all != NULL) {
			p->expressions = all;
			all[p->nexpressions++] = own;
		} else {
			free(own);
			p->unknown = "no memory";
		}
	}
	rtc_program_unlock(p);
	rtc_program_put(p);
	return code;
}

/* Whether the options are strings, which the compiler may see otherwise. */
static bool are_options(int n, const char *const *options)
{
	for (int i = 0; i < n; i++)
		if (options == NULL || options[i] == NULL)
			return false;
	return n >= 0;
}

/* Keeps what would come of a compile. false: no memory. */
static bool keep(struct rtc_program *p, int n, const char *const *options, const ksr_output *o)
{
	char **own = rtc_copy_list(options, (unsigned)n);
	struct rtc_answers *a = own == NULL ? NULL : rtc_answers_copy(o);
	if (a == NULL) {
		rtc_free_list(own, own == NULL ? 0 : (unsigned)n);
		return false;
	}
	p->options = own;
	p->noptions = (unsigned)n;
	p->answers = a;
	p->served = true;
	return true;
}

static void version(struct rtc_library *l, ksr_request *r)
{
	rtc_version_fn ask;
	int major = 0, minor = 0;
	*(void **)&ask = l->real[RTC_VERSION];
	if (ask(&major, &minor) != 0)
		major = minor = 0;
	r->major = major;
	r->minor = minor;
}

/* The compiler compiles, and the library is told. */
static int build(struct rtc_program *p, int n, const char *const *options, uint64_t ticket)
{
	struct rtc_gathered g;
	ksr_outcome o = {.result = KSR_ABANDONED};
	uint64_t from = nanoseconds();
	int code = real_compile(p, (unsigned)n, options);
	o.nanoseconds = nanoseconds() - from;
	o.code = code;
	bool refused = code == p->library->api->errors[0] || code == p->library->api->errors[1];
	if (code == 0 || refused) {
		if (rtc_gather(p, code == 0, &g)) {
			o.result = code == 0 ? KSR_BUILT : KSR_FAILED;
			o.output = g.output;
		}
		rtc_done(ticket, &o);
		rtc_gathered_free(&g);
	} else {
		rtc_done(ticket, &o);
	}
	return code;
}

static int compile(struct rtc_program *p, int n, const char *const *options)
{
	ksr_request r = {
		.size = sizeof r, .api = p->library->api->number, .compile = p->library->real[RTC_COMPILE],
		.source = p->source, .name = p->name, .headers = (const char *const *)p->headers,
		.includes = (const char *const *)p->includes, .options = options,
		.expressions = (const char *const *)p->expressions,
		.nheaders = p->nheaders, .noptions = n > 0 ? (uint32_t)n : 0, .nexpressions = p->nexpressions,
	};
	ksr_reply reply = {0};

	bool again = p->served || p->compiled;
	settle(p);
	p->compiled = true;
	const char *mode = library_arithmetic();
	if (again || p->unknown != NULL || mode != NULL || !are_options(n, options)) {
		rtc_passed(p->library->api, again ? "compiled again" : p->unknown != NULL ? p->unknown
				: mode != NULL ? mode : "options that make no sense");
		return real_compile(p, (unsigned)n, options);
	}
	version(p->library, &r);
	switch (rtc_begin(&r, &reply)) {
	case KSR_SERVE: {
		bool kept = keep(p, n, options, &reply.output);
		rtc_end(reply.ticket);
		if (!kept)
			break;
		p->compiled = false;
		return 0;
	}
	case KSR_BUILD:
		return build(p, n, options, reply.ticket);
	default:
		break;
	}
	return real_compile(p, (unsigned)n, options);
}

int rtc_compile(struct rtc_caller c, void *program, int n, const char *const *options)
{
	rtc_compile_fn real;
	struct rtc_program *p = find(&c, RTC_COMPILE, program, (void **)&real);
	if (p == NULL)
		return real == NULL ? c.api->broken : real(program, n, options);
	rtc_program_lock(p);
	int code = compile(p, n, options);
	rtc_program_unlock(p);
	rtc_program_put(p);
	return code;
}

/* The answer to give for a piece, or NULL: the real program is to be asked, and is
 * compiled by then. The program is locked. */
static const ksr_answer *answer(struct rtc_program *p, unsigned piece, bool sensible)
{
	const ksr_output *o;
	const ksr_answer *a;
	if (!p->served)
		return NULL;
	o = rtc_answers_output(p->answers);
	a = piece == LOG_PIECE ? &o->log : &o->forms[piece];
	if (sensible && a->asked && a->code == 0)
		return a;
	settle(p);
	return NULL;
}

int rtc_size(struct rtc_caller c, unsigned piece, void *program, size_t *size)
{
	rtc_size_fn real;
	struct rtc_program *p = find(&c, RTC_SIZE + piece, program, (void **)&real);
	const ksr_answer *a = NULL;
	int code = 0;
	if (p != NULL) {
		rtc_program_lock(p);
		a = answer(p, piece, size != NULL);
	}
	if (a != NULL)
		*size = a->data.size;
	else
		code = real == NULL ? c.api->broken : real(program, size);
	if (p != NULL) {
		rtc_program_unlock(p);
		rtc_program_put(p);
	}
	return code;
}

int rtc_get(struct rtc_caller c, unsigned piece, void *program, char *to)
{
	rtc_get_fn real;
	struct rtc_program *p = find(&c, RTC_GET + piece, program, (void **)&real);
	const ksr_answer *a = NULL;
	int code = 0;
	if (p != NULL) {
		rtc_program_lock(p);
		a = answer(p, piece, to != NULL);
		if (a != NULL && a->data.size == 0) { /* what the library says then was not asked */
			settle(p);
			a = NULL;
		}
	}
	if (a != NULL)
		memcpy(to, a->data.data, a->data.size);
	else
		code = real == NULL ? c.api->broken : real(program, to);
	if (p != NULL) {
		rtc_program_unlock(p);
		rtc_program_put(p);
	}
	return code;
}

/* The stored name of an expression; NULL: the real program is to be asked. */
static const char *name_of(struct rtc_program *p, const char *expression)
{
	const ksr_output *o = p->served ? rtc_answers_output(p->answers) : NULL;
	for (uint32_t i = 0; o != NULL && expression != NULL && i < o->nlowered; i++)
		if (strcmp(o->lowered[i].expression, expression) == 0 && o->lowered[i].code == 0)
			return o->lowered[i].name;
	settle(p);
	return NULL;
}

int rtc_lowered(struct rtc_caller c, void *program, const char *expression, const char **name)
{
	rtc_lowered_fn real;
	struct rtc_program *p = find(&c, RTC_LOWERED, program, (void **)&real);
	const char *found = NULL;
	int code = 0;
	if (p != NULL) {
		rtc_program_lock(p);
		found = name_of(p, name == NULL ? NULL : expression);
	}
	if (found != NULL)
		*name = found;
	else
		code = real == NULL ? c.api->broken : real(program, expression, name);
	if (p != NULL) {
		rtc_program_unlock(p);
		rtc_program_put(p);
	}
	return code;
}

int rtc_other(struct rtc_caller c, unsigned other, void *program, void *a, void *b)
{
	rtc_other_fn real;
	struct rtc_program *p = find(&c, RTC_OTHER + other, program, (void **)&real);
	if (p != NULL) {
		rtc_program_lock(p);
		settle(p);
		if ((int)other == c.api->watched)
			p->unknown = "a callback during the compile";
	}
	int code = real == NULL ? c.api->broken : real(program, a, b);
	if (p != NULL) {
		rtc_program_unlock(p);
		rtc_program_put(p);
	}
	return code;
}
