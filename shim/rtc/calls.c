/* calls.c: the functions that are stood before. */
#include "rtc.h"

struct library_front rtc_front_end = {.runtime = "rtc"};

void rtc_passed(const struct rtc_api *api, const char *reason) { library_passed(&rtc_front_end, api->number, reason); }

static _Thread_local int own_call;

void kernstash_rtc_aside(int on) { own_call = on; }

bool rtc_aside(void) { return own_call != 0; }

struct rtc_program *rtc_enter(struct rtc_caller *c, enum rtc_function f, void *program, void *real)
{
	struct rtc_program *p = program == NULL ? NULL : rtc_program_enter(program);
	if (p != NULL)
		c->library = p->library;
	*(void **)real = rtc_real(c, f);
	return p;
}

/* Whether --restrict is among the options. NVRTC 12.4 and 13.0 (of any version that is assumed) then take it for given in all later compiles of the
 * process: what they make without it is another process's wrong binary (gpu/rtc/lasting.go). */
static bool restricts(int n, const char *const *options)
{
	for (int i = 0; i < n && options != NULL; i++)
		if (options[i] != NULL && strncmp(options[i] + strspn(options[i], "-"), "res", 3) == 0)
			return true;
	return false;
}

/* Is called before each compile that is seen. */
static void note_options(struct rtc_library *l, int n, const char *const *options)
{
	if (l != NULL && l->api->number == RTC_NVRTC && restricts(n, options))
		atomic_store(&l->restricted, true);
}

typedef int (*compile_fn)(void *, int, const char *const *);

static int real_compile(const struct rtc_program *p, unsigned n, const char *const *options)
{
	compile_fn compile;
	note_options(p->library, (int)n, options);
	*(void **)&compile = p->library->real[RTC_COMPILE];
	return compile(p->handle, (int)n, options);
}

typedef int (*ask_fn)(void *, void *, void *);

/* One of those from RTC_ASKED on, which the library has. */
static int real_ask(const struct rtc_program *p, enum rtc_function f, void *a, void *b)
{
	ask_fn ask;
	*(void **)&ask = p->library->real[f];
	return ask(p->handle, a, b);
}

/* Compiles what was only answered for: something is asked that the answers do not hold.
 * The program, if there is one, is locked. Names that were given out stay. */
static void compile_late(struct rtc_program *p)
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
	struct rtc_library *l = own_call != 0 ? NULL : rtc_library_for(&c);
	int (*create)(void **, const char *, const char *, int, const char *const *, const char *const *);
	*(void **)&create = l != NULL ? l->real[RTC_CREATE] : rtc_real(&c, RTC_CREATE);
	if (create == NULL)
		return RTC_INTERNAL_ERROR;
	int code = create(program, source, name, nheaders, headers, includes);
	bool known = nheaders <= 0 || (headers != NULL && includes != NULL);
	if (code == 0 && l != NULL && program != NULL && *program != NULL && source != NULL && known)
		rtc_program_add(l, *program, source, name, nheaders, headers, includes);
	return code;
}

int rtc_destroy(struct rtc_caller c, void **program)
{
	struct rtc_program *p = program == NULL || *program == NULL ? NULL : rtc_program_take(*program);
	int (*destroy)(void **);
	if (p != NULL)
		c.library = p->library;
	*(void **)&destroy = rtc_real(&c, RTC_DESTROY);
	int code = destroy == NULL ? c.api->missing : destroy(program);
	if (p != NULL && code != 0)
		rtc_program_back(p);
	else if (p != NULL)
		rtc_program_put(p);
	return code;
}

bool rtc_are_options(int n, const char *const *options)
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

enum { LARGEST = 1 << 30 }; /* bytes of a piece */

/* Asks the real library for a piece. false: no memory, or its size makes no sense. */
static bool ask_piece(const struct rtc_program *p, unsigned piece, struct message *m)
{
	bool log = piece == LOG_PIECE;
	ksf_field f = {.tag = log ? KSF_LOG : KSF_BINARY, .detail = log ? 0 : piece};
	size_t n = 0;
	if (p->library->real[RTC_SIZE + piece] == NULL || p->library->real[RTC_GET + piece] == NULL)
		return true;
	int code = real_ask(p, RTC_SIZE + piece, &n, NULL);
	if (code == 0 && n > 0) {
		void *data = n > LARGEST ? NULL : message_own(m, malloc(n));
		if (data == NULL)
			return false;
		code = real_ask(p, RTC_GET + piece, data, NULL);
		if (code == 0) {
			f.data = data;
			f.size = n;
		}
	}
	f.number = (uint32_t)code;
	message_add(m, f);
	return true;
}

/* Adds what a compile made, all of it or its log. false: it can not be told. */
static bool gather(const struct rtc_program *p, bool all, struct message *m)
{
	if (!ask_piece(p, LOG_PIECE, m))
		return false;
	if (!all)
		return true;
	for (unsigned i = 0; i < RTC_FORMS; i++)
		if (!ask_piece(p, i, m))
			return false;
	if (p->nexpressions > 0 && p->library->real[RTC_LOWERED] == NULL)
		return false;
	for (unsigned i = 0; i < p->nexpressions; i++) {
		const char *name = NULL;
		int code = real_ask(p, RTC_LOWERED, p->expressions[i], &name);
		message_text(m, KSF_EXPRESSION, p->expressions[i]);
		message_add(m, (ksf_field){.tag = KSF_LOWERED, .number = (uint32_t)code, .data = name, .size = name == NULL ? 0 : strlen(name)});
	}
	return !m->failed;
}

static void version_of(const struct rtc_program *p, int *major, int *minor)
{
	int (*version)(int *, int *);
	*(void **)&version = p->library->real[RTC_VERSION];
	if (version(major, minor) != 0)
		*major = *minor = 0;
}

/* Whether a compile may be answered from NVRTC's own cache, which it has from 12.9 on. That hands out what another process
 * made after --restrict (gpu/rtc/lasting.go). */
static bool has_own_cache(const struct rtc_program *p, int n, const char *const *options)
{
	int major, minor;
	if (p->library->api->number != RTC_NVRTC)
		return false;
	version_of(p, &major, &minor);
	if (major < 12 || (major == 12 && minor < 9))
		return false;
	for (int i = 0; i < n; i++)
		if (strcmp(options[i] + strspn(options[i], "-"), "no-cache") == 0)
			return false;
	return true;
}

/* Compiles: what is to be kept, without NVRTC's own cache. *unfit: why it must not be. */
static int compile_for_store(struct rtc_program *p, int n, const char *const *options, bool kept, const char **unfit)
{
	bool own = kept && has_own_cache(p, n, options);
	const char **more = own ? calloc((size_t)n + 1, sizeof *more) : NULL;
	int code = RTC_INVALID_OPTION;
	*unfit = NULL;
	if (more != NULL) {
		if (n > 0)
			memcpy(more, options, (size_t)n * sizeof *more);
		more[n] = "--no-cache";
		code = real_compile(p, (unsigned)n + 1, more);
		free(more);
	}
	if (code == RTC_INVALID_OPTION) { /* that one maybe */
		code = real_compile(p, (unsigned)n, options);
		if (own && code == 0)
			*unfit = "NVRTC takes what it makes from a cache of its own";
	}
	if (atomic_load(&p->library->restricted) && !restricts(n, options))
		*unfit = "NVRTC goes on with --restrict of an earlier compile";
	return code;
}

/* The compiler compiles, and the library is told. */
static int build(struct rtc_program *p, int n, const char *const *options, bool kept, uint64_t ticket)
{
	struct message m = {0};
	ksf_step step;
	const char *unfit;
	uint64_t from = nanoseconds();
	int code = compile_for_store(p, n, options, kept, &unfit);
	uint64_t took = nanoseconds() - from;
	bool refused = code == RTC_COMPILATION || code == RTC_INVALID_OPTION;
	if ((code == 0 || refused) && gather(p, code == 0, &m)) {
		if (unfit != NULL)
			message_text(&m, KSF_PASSED, unfit);
		message_result(&m, code == 0 ? KSF_BUILT : KSF_FAILED, code, took);
	} else {
		message_free(&m);
		message_result(&m, KSF_ABANDONED, code, took);
	}
	library_next(&rtc_front_end, ticket, &m, &step);
	library_end(&rtc_front_end, step.ticket);
	return code;
}

void rtc_add_all(struct message *m, uint32_t tag, char *const *texts, unsigned n)
{
	for (unsigned i = 0; i < n; i++)
		message_text(m, tag, texts[i]);
}

void rtc_add_library(struct message *m, const struct rtc_program *p, uint32_t detail)
{
	int major, minor;
	version_of(p, &major, &minor);
	message_number(m, KSF_FUNCTION, detail, (uintptr_t)p->library->real[RTC_COMPILE]);
	message_number(m, KSF_VERSION, (uint32_t)major, (uint32_t)minor);
}

/* What the library is asked. */
static uint32_t begin(struct rtc_program *p, unsigned n, const char *const *options, ksf_step *step)
{
	struct message m = {0};
	rtc_add_library(&m, p, 0);
	message_text(&m, KSF_CODE, p->source);
	message_text(&m, KSF_NAME, p->name);
	for (unsigned i = 0; i < p->nheaders; i++) {
		message_text(&m, KSF_HEADER, p->includes[i]);
		message_text(&m, KSF_CODE, p->headers[i]);
	}
	rtc_add_all(&m, KSF_OPTIONS, (char *const *)options, n);
	rtc_add_all(&m, KSF_EXPRESSION, p->expressions, p->nexpressions);
	return library_begin(&rtc_front_end, p->library->api->number, &m, step);
}

static int compile(struct rtc_program *p, int n, const char *const *options)
{
	ksf_step step;

	bool again = p->served || p->compiled;
	compile_late(p);
	p->compiled = true;
	const char *mode = library_arithmetic();
	if (again || p->unknown != NULL || mode != NULL || !rtc_are_options(n, options)) {
		rtc_passed(p->library->api, again ? "compiled again" : p->unknown != NULL ? p->unknown
				: mode != NULL ? mode : "options that make no sense");
		return real_compile(p, (unsigned)n, options);
	}
	switch (begin(p, (unsigned)n, options, &step)) {
	case KSF_HIT: {
		bool kept = keep(p, n, options, &step.message);
		library_end(&rtc_front_end, step.ticket);
		if (!kept)
			break;
		p->compiled = false;
		return 0;
	}
	case KSF_BUILD:
		return build(p, n, options, message_find(&step.message, KSF_PASSED, 0) == NULL, step.ticket);
	}
	return real_compile(p, (unsigned)n, options);
}

int rtc_compile(struct rtc_caller c, void *program, int n, const char *const *options)
{
	compile_fn real;
	struct rtc_program *p = rtc_enter(&c, RTC_COMPILE, program, &real);
	if (p == NULL) {
		note_options(restricts(n, options) ? rtc_library_for(&c) : NULL, n, options);
		return real == NULL ? RTC_INTERNAL_ERROR : real(program, n, options);
	}
	int code = compile(p, n, options);
	rtc_program_leave(p);
	return code;
}

/* The stored name of an expression, or NULL. */
static const char *name_of(const ksf_message *m, const char *expression)
{
	for (size_t i = 1; i < m->count; i++) {
		const ksf_field *f = &m->fields[i];
		if (f->tag == KSF_LOWERED && f->number == 0 && strcmp(f[-1].data, expression) == 0)
			return f->data;
	}
	return NULL;
}

/* Answers a function by what is stored. false: the real program is to be asked, once it is compiled. */
static bool answer(const struct rtc_program *p, enum rtc_function f, void *a, void *b, int *code)
{
	*code = 0;
	if (!p->served || a == NULL)
		return false;
	if (f == RTC_LOWERED) {
		const char *name = b == NULL ? NULL : name_of(p->answers, a);
		if (name != NULL)
			*(const char **)b = name;
		return name != NULL;
	}
	if (f < RTC_SIZE || f >= RTC_OTHER)
		return false;
	unsigned piece = f < RTC_GET ? f - RTC_SIZE : f - RTC_GET;
	const ksf_field *stored = piece == LOG_PIECE ? message_find(p->answers, KSF_LOG, 0) : message_find(p->answers, KSF_BINARY, piece);
	if (stored == NULL || stored->number != 0)
		return false;
	if (f < RTC_GET)
		*(size_t *)a = stored->size;
	else if (stored->size > 0)
		memcpy(a, stored->data, stored->size);
	else if (piece == LOG_PIECE)
		*code = real_ask(p, f, a, b); /* that of a program that was not compiled is as empty */
	else
		return false; /* what the library says then was not asked */
	return true;
}

void rtc_add_expression(struct rtc_program *p, const char *expression)
{
	char *own = strdup(expression);
	char **all = own == NULL ? NULL : realloc(p->expressions, (p->nexpressions + 1) * sizeof *all);
	if (all == NULL) {
		free(own);
		p->unknown = "no memory";
		return;
	}
	p->expressions = all;
	all[p->nexpressions++] = own;
}

int rtc_ask(struct rtc_caller c, enum rtc_function f, void *program, void *a, void *b)
{
	ask_fn real;
	int code = 0;
	struct rtc_program *p = rtc_enter(&c, f, program, &real);
	if (p == NULL || !answer(p, f, a, b, &code)) {
		compile_late(p);
		code = real == NULL ? RTC_INTERNAL_ERROR : real(program, a, b);
	}
	if (p == NULL)
		return code;
	if (f == RTC_ADD && code == 0 && a != NULL)
		rtc_add_expression(p, a);
	if (f == c.api->watched)
		p->unknown = "a callback during the compile";
	rtc_program_leave(p);
	return code;
}

int rtc_call(struct rtc_caller c, enum rtc_function f, void *const a[RTC_ARGUMENTS])
{
	switch (f) {
	case RTC_CREATE:
		return rtc_create(c, a[0], a[1], a[2], (int)(intptr_t)a[3], a[4], a[5]);
	case RTC_DESTROY:
		return rtc_destroy(c, a[0]);
	case RTC_COMPILE:
		return rtc_compile(c, a[0], (int)(intptr_t)a[1], a[2]);
	default:
		return rtc_ask(c, f, a[0], a[1], a[2]);
	}
}
