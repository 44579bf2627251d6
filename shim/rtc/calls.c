/*
 * calls.c: the functions that are stood before.
 */
#include "rtc.h"

#include <stdlib.h>
#include <string.h>

struct library_door rtc_door = {.runtime = "rtc"};

void rtc_passed(const struct rtc_api *api, const char *reason) { library_passed(&rtc_door, api->number, reason); }

static _Thread_local int aside;

void kernstash_rtc_aside(int on) { aside = on; }

/* The program's record, locked, or NULL; and the real function, of its library or the caller's. */
static struct rtc_program *enter(struct rtc_caller *c, enum rtc_function f, void *program, void *real)
{
	struct rtc_program *p = program == NULL ? NULL : rtc_program_get(program);
	if (p != NULL)
		c->library = p->library;
	*(void **)real = rtc_real(c, f);
	if (p != NULL)
		rtc_program_lock(p);
	return p;
}

/* Returns the code. */
static int leave(struct rtc_program *p, int code)
{
	if (p != NULL) {
		rtc_program_unlock(p);
		rtc_program_put(p);
	}
	return code;
}

static int real_compile(const struct rtc_program *p, unsigned n, const char *const *options)
{
	rtc_compile_fn compile;
	*(void **)&compile = p->library->real[RTC_COMPILE];
	return compile(p->handle, (int)n, options);
}

/* Compiles what was only answered for: something is asked that the answers do not hold.
 * The program, if there is one, is locked. Names that were given out stay. */
static void settle(struct rtc_program *p)
{
	if (p == NULL || !p->served)
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
	struct rtc_library *l = aside != 0 ? NULL : rtc_library_for(&c);
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
	struct rtc_program *p = enter(&c, RTC_ADD, program, &add);
	settle(p);
	int code = add == NULL ? c.api->broken : add(program, expression);
	if (p != NULL && code == 0 && expression != NULL) {
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
	return leave(p, code);
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
static bool keep(struct rtc_program *p, int n, const char *const *options, const ksf_message *stored)
{
	char **own = rtc_copy_list(options, (unsigned)n);
	ksf_message *a = own == NULL ? NULL : message_copy(stored);
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

static void version(struct rtc_library *l, struct message *m)
{
	rtc_version_fn ask;
	int major = 0, minor = 0;
	*(void **)&ask = l->real[RTC_VERSION];
	if (ask(&major, &minor) != 0)
		major = minor = 0;
	message_number(m, KSF_VERSION, (uint32_t)major, (uint32_t)minor);
}

/* The compiler compiles, and the library is told. */
static int build(struct rtc_program *p, int n, const char *const *options, uint64_t ticket)
{
	struct message m = {0};
	ksf_step step;
	uint64_t from = nanoseconds();
	int code = real_compile(p, (unsigned)n, options);
	uint64_t took = nanoseconds() - from;
	bool refused = code == p->library->api->errors[0] || code == p->library->api->errors[1];
	if ((code == 0 || refused) && rtc_gather(p, code == 0, &m)) {
		message_result(&m, code == 0 ? KSF_BUILT : KSF_FAILED, code, took);
	} else {
		message_free(&m);
		message_result(&m, KSF_ABANDONED, code, took);
	}
	library_next(&rtc_door, ticket, &m, &step);
	library_end(&rtc_door, step.ticket);
	message_free(&m);
	return code;
}

static void add_all(struct message *m, uint32_t tag, char *const *texts, unsigned n)
{
	for (unsigned i = 0; i < n; i++)
		message_text(m, tag, texts[i]);
}

/* What the library is asked. */
static uint32_t begin(struct rtc_program *p, unsigned n, const char *const *options, ksf_step *step)
{
	struct message m = {0};
	message_number(&m, KSF_FUNCTION, 0, (uintptr_t)p->library->real[RTC_COMPILE]);
	version(p->library, &m);
	message_text(&m, KSF_CODE, p->source);
	message_text(&m, KSF_NAME, p->name);
	for (unsigned i = 0; i < p->nheaders; i++) {
		message_text(&m, KSF_HEADER, p->includes[i]);
		message_text(&m, KSF_CODE, p->headers[i]);
	}
	add_all(&m, KSF_OPTIONS, (char *const *)options, n);
	add_all(&m, KSF_EXPRESSION, p->expressions, p->nexpressions);
	uint32_t action = library_begin(&rtc_door, p->library->api->number, &m, step);
	message_free(&m);
	return action;
}

static int compile(struct rtc_program *p, int n, const char *const *options)
{
	ksf_step step;

	bool again = p->served || p->compiled;
	settle(p);
	p->compiled = true;
	const char *mode = library_arithmetic();
	if (again || p->unknown != NULL || mode != NULL || !are_options(n, options)) {
		rtc_passed(p->library->api, again ? "compiled again" : p->unknown != NULL ? p->unknown
				: mode != NULL ? mode : "options that make no sense");
		return real_compile(p, (unsigned)n, options);
	}
	switch (begin(p, (unsigned)n, options, &step)) {
	case KSF_HIT: {
		bool kept = keep(p, n, options, &step.message);
		library_end(&rtc_door, step.ticket);
		if (!kept)
			break;
		p->compiled = false;
		return 0;
	}
	case KSF_BUILD:
		return build(p, n, options, step.ticket);
	default:
		break;
	}
	return real_compile(p, (unsigned)n, options);
}

int rtc_compile(struct rtc_caller c, void *program, int n, const char *const *options)
{
	rtc_compile_fn real;
	struct rtc_program *p = enter(&c, RTC_COMPILE, program, &real);
	if (p == NULL)
		return real == NULL ? c.api->broken : real(program, n, options);
	return leave(p, compile(p, n, options));
}

/* The answer to give for a piece, or NULL: the real program is to be asked, and is
 * compiled by then. The program, if there is one, is locked. */
static const ksf_field *answer(struct rtc_program *p, unsigned piece, bool sensible)
{
	const ksf_field *a = p != NULL && p->served && sensible ? rtc_piece(p->answers, piece) : NULL;
	if (a != NULL && a->number == 0)
		return a;
	settle(p);
	return NULL;
}

int rtc_size(struct rtc_caller c, unsigned piece, void *program, size_t *size)
{
	rtc_size_fn real;
	struct rtc_program *p = enter(&c, RTC_SIZE + piece, program, &real);
	const ksf_field *a = answer(p, piece, size != NULL);
	if (a == NULL)
		return leave(p, real == NULL ? c.api->broken : real(program, size));
	*size = a->size;
	return leave(p, 0);
}

int rtc_get(struct rtc_caller c, unsigned piece, void *program, char *to)
{
	rtc_get_fn real;
	struct rtc_program *p = enter(&c, RTC_GET + piece, program, &real);
	const ksf_field *a = answer(p, piece, to != NULL);
	if (a != NULL && a->size == 0) { /* what the library says then was not asked */
		settle(p);
		a = NULL;
	}
	if (a == NULL)
		return leave(p, real == NULL ? c.api->broken : real(program, to));
	memcpy(to, a->data, a->size);
	return leave(p, 0);
}

/* The stored name of an expression; NULL: the real program is to be asked. */
static const char *name_of(struct rtc_program *p, const char *expression)
{
	const ksf_message *m = p != NULL && p->served ? p->answers : NULL;
	for (size_t i = 1; m != NULL && expression != NULL && i < m->count; i++) {
		const ksf_field *f = &m->fields[i];
		if (f->tag == KSF_LOWERED && f->number == 0 && strcmp(f[-1].data, expression) == 0)
			return f->data;
	}
	settle(p);
	return NULL;
}

int rtc_lowered(struct rtc_caller c, void *program, const char *expression, const char **name)
{
	rtc_lowered_fn real;
	struct rtc_program *p = enter(&c, RTC_LOWERED, program, &real);
	const char *found = name_of(p, name == NULL ? NULL : expression);
	if (found == NULL)
		return leave(p, real == NULL ? c.api->broken : real(program, expression, name));
	*name = found;
	return leave(p, 0);
}

int rtc_other(struct rtc_caller c, unsigned other, void *program, void *a, void *b)
{
	rtc_other_fn real;
	struct rtc_program *p = enter(&c, RTC_OTHER + other, program, &real);
	settle(p);
	if (p != NULL && (int)other == c.api->watched)
		p->unknown = "a callback during the compile";
	return leave(p, real == NULL ? c.api->broken : real(program, a, b));
}
