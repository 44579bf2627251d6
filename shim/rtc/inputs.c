/*
 * inputs.c: compilers whose programs are given inputs one by one: nvJitLink and libnvvm.
 *
 * nvJitLink compiles PTX when it is added. So adding an input may be answered for, too: the real program is given
 * it later, if it has to be, and all that were added since. What is asked of the library is what would come of all
 * inputs until now, in order: of adding the last one, or of the compile.
 */
#include "rtc.h"

#include <errno.h>
#include <fcntl.h>
#include <langinfo.h>
#include <locale.h>
#include <sys/uio.h>
#include <unistd.h>

/* nvJitLink's kinds of input. */
enum { CUBIN = 1, PTX = 2, LTOIR = 3, LIBRARY = 6, ANY = 10 };

/* Each step is of all inputs until then, and so is what is stored of it: the bytes are those of all steps. */
enum { MOST_INPUTS = 64, MOST_BYTES = 128 << 20 };

typedef int (*any_fn)(void *, void *, void *, void *, void *);

static int call_real(const struct rtc_program *p, enum rtc_function f, void *const a[RTC_ARGUMENTS])
{
	any_fn real;
	*(void **)&real = p->library->real[f];
	return real == NULL ? p->library->api->missing : real(a[0], a[1], a[2], a[3], a[4]);
}

static bool is_linker(const struct rtc_program *p) { return p->library->api->number == RTC_NVJITLINK; }

static bool is_file(const struct rtc_program *p, const struct rtc_input *in) { return is_linker(p) && in->too; }

/* Reads a file into memory of malloc's, with a NUL behind it; NULL: it is none that can be read, or larger than most. */
static char *read_file(const char *name, size_t most, size_t *size)
{
	struct stat is;
	char *data = NULL;
	int fd = open(name, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	if (fd >= 0 && fstat(fd, &is) == 0 && S_ISREG(is.st_mode) && (size_t)is.st_size <= most)
		data = malloc((size_t)is.st_size + 1);
	size_t n = 0;
	while (data != NULL && n <= (size_t)is.st_size) {
		ssize_t got = read(fd, data + n, (size_t)is.st_size + 1 - n);
		if (got > 0) {
			n += (size_t)got;
			continue;
		}
		if (got == 0 && n == (size_t)is.st_size)
			break;
		if (got < 0 && errno == EINTR)
			continue;
		n = (size_t)is.st_size + 1;
	}
	if (data != NULL && n > (size_t)is.st_size) { /* it changes */
		free(data);
		data = NULL;
	}
	if (fd >= 0)
		close(fd);
	if (data != NULL) {
		data[n] = 0;
		*size = n;
	}
	return data;
}

/* Whether the file of an input still holds what was read of it. */
static bool is_same_file(const struct rtc_input *in)
{
	size_t size = 0;
	char *now = read_file(in->name, in->size, &size);
	bool same = now != NULL && size == in->size && memcmp(now, in->data, size) == 0;
	free(now);
	return same;
}

/* Whether a NUL stands behind text that has none, where the real library looks for it. There may be no memory. */
BARE static bool ends(const char *data, size_t size)
{
	enum { PAGE = 4096 };
	char next = 1;
	struct iovec to = {&next, 1}, from = {(void *)(data + size), 1};
	if (data[size - 1] == 0)
		return true;
	if ((uintptr_t)(data + size) % PAGE != 0)
		return data[size] == 0;
	return process_vm_readv(getpid(), &to, 1, &from, 1, 0) == 1 && next == 0;
}

/* Remembers an input that is about to be added; returns why that can not be. errno is whatever it may be. */
static const char *remember(struct rtc_program *p, enum rtc_function f, void *const a[RTC_ARGUMENTS])
{
	struct rtc_input in = {.too = f == RTC_INPUT_TOO};
	bool file = is_file(p, &in);
	size_t sum = p->asked;
	const char *data, *name;
	if (is_linker(p)) {
		in.kind = (uint32_t)(uintptr_t)a[1];
		data = file ? NULL : a[2];
		in.size = file ? 0 : (size_t)a[3];
		name = file ? a[2] : a[4];
	} else {
		data = a[1];
		in.size = (size_t)a[2];
		name = a[3];
	}
	for (unsigned i = 0; i < p->ninputs; i++)
		sum += p->inputs[i].size;
	size_t room = sum < MOST_BYTES ? MOST_BYTES - sum : 0;
	if (p->ninputs >= MOST_INPUTS || in.size > room)
		return "too many inputs";
	if (file ? name == NULL : data == NULL || in.size == 0)
		return "an input of nothing";
	if (!file && is_linker(p) && (in.kind == PTX || in.kind == ANY) && !ends(data, in.size))
		return "PTX that does not end";
	if (file) {
		in.data = read_file(name, room, &in.size);
		if (in.data == NULL || in.size == 0) {
			free(in.data);
			return "a file that is not read";
		}
	} else if ((in.data = malloc(in.size + 1)) != NULL) {
		memcpy(in.data, data, in.size);
		in.data[in.size] = 0;
	}
	in.name = name == NULL ? NULL : strdup(name);
	struct rtc_input *all = realloc(p->inputs, (p->ninputs + 1) * sizeof *all);
	if (all != NULL)
		p->inputs = all;
	if (all == NULL || in.data == NULL || (name != NULL && in.name == NULL)) {
		free(in.data);
		free(in.name);
		return "no memory";
	}
	if (p->ninputs == 0)
		p->added = nanoseconds();
	all[p->ninputs++] = in;
	return NULL;
}

/* Gives the real program an input that it was not given when the application did. */
static int give(struct rtc_program *p, struct rtc_input *in)
{
	void *kind = (void *)(uintptr_t)in->kind, *size = (void *)in->size;
	if (is_file(p, in) && is_same_file(in))
		return call_real(p, RTC_INPUT_TOO, (void *const[RTC_ARGUMENTS]){p->handle, kind, in->name, NULL, NULL});
	if (is_linker(p))
		return call_real(p, RTC_INPUT, (void *const[RTC_ARGUMENTS]){p->handle, kind, in->data, size, in->name});
	return call_real(p, in->too ? RTC_INPUT_TOO : RTC_INPUT, (void *const[RTC_ARGUMENTS]){p->handle, in->data, size, in->name, NULL});
}

static int real_compile(struct rtc_program *p)
{
	if (is_linker(p))
		return call_real(p, RTC_COMPILE, (void *const[RTC_ARGUMENTS]){p->handle, NULL, NULL, NULL, NULL});
	return call_real(p, RTC_COMPILE, (void *const[RTC_ARGUMENTS]){p->handle, (void *)(uintptr_t)p->noptions, p->options, NULL, NULL});
}

/* Whether the thread's locale writes 1.5 as C does: nvJitLink reads the numbers of PTX by strtod, and takes it for 1 elsewhere. */
static bool has_point(void) { return strcmp(nl_langinfo(RADIXCHAR), ".") == 0; }

/* Why what is made now is not what is made elsewhere; NULL: it is. */
static const char *mode(void)
{
	const char *why = library_arithmetic();
	return why == NULL && !has_point() ? "a locale with another decimal point" : why;
}

/* Has the real program where the application believes it to be, with the first n inputs. */
static void give_late(struct rtc_program *p, unsigned n)
{
	bool late = p->given < n || p->owed;
	p->served = false;
	if (!late)
		return;
	rtc_passed(p->library->api, "asked for what is not stored");
	struct arithmetic before;
	library_default_arithmetic(&before); /* as it was when it was served */
	locale_t c = has_point() ? (locale_t)0 : newlocale(LC_ALL_MASK, "C", (locale_t)0);
	locale_t own = c == (locale_t)0 ? c : uselocale(c);
	for (; p->given < n; p->given++)
		if (give(p, &p->inputs[p->given]) != 0)
			p->unknown = "an input that is refused now";
	if (p->owed)
		real_compile(p);
	p->owed = false;
	if (own != (locale_t)0) {
		uselocale(own);
		freelocale(c);
	}
	library_arithmetic_back(&before);
}

/* The real library does what the application asks for, and nobody is told. */
static int pass(struct rtc_program *p, enum rtc_function f, void *const a[RTC_ARGUMENTS], const char *why)
{
	give_late(p, p->ninputs);
	if (f == RTC_COMPILE || p->unknown == NULL)
		rtc_passed(p->library->api, why);
	p->unknown = why;
	return call_real(p, f, a);
}

enum { LARGEST = 1 << 30 }; /* bytes of a piece */

/* Asks the real library for a piece. What is not added is asked of the real one again, when the application does. */
static bool ask_piece(const struct rtc_program *p, unsigned piece, struct message *m)
{
	bool log = piece == LOG_PIECE;
	ksf_field f = {.tag = log ? KSF_LOG : KSF_BINARY, .detail = log ? 0 : piece};
	const size_t untouched = SIZE_MAX - 76;
	size_t n = untouched;
	if (p->library->real[RTC_SIZE + piece] == NULL || p->library->real[RTC_GET + piece] == NULL)
		return true;
	int code = call_real(p, RTC_SIZE + piece, (void *const[RTC_ARGUMENTS]){p->handle, &n, NULL, NULL, NULL});
	if (code == 0 ? n > LARGEST : n != untouched)
		return false;
	if (code == 0 && n > 0) {
		void *data = message_own(m, malloc(n));
		if (data == NULL || call_real(p, RTC_GET + piece, (void *const[RTC_ARGUMENTS]){p->handle, data, NULL, NULL, NULL}) != 0)
			return false;
		f.data = data;
		f.size = n;
	}
	f.number = (uint32_t)code;
	message_add(m, f);
	return true;
}

static bool gather(const struct rtc_program *p, struct message *m)
{
	for (unsigned i = 0; i < PIECES; i++)
		if (!ask_piece(p, i, m))
			return false;
	return !m->failed;
}

static bool is_refusal(const struct rtc_api *api, int code) { return code == api->refusals[0] || code == api->refusals[1]; }

/* The real program, which has all that came before, is asked for the last step. */
static int step_real(struct rtc_program *p, enum rtc_function f, void *const a[RTC_ARGUMENTS])
{
	int code = call_real(p, f, a);
	if (f == RTC_COMPILE)
		return code;
	p->given++;
	if (code != 0)
		p->unknown = "an input that was refused";
	else if (is_file(p, &p->inputs[p->ninputs - 1]) && !is_same_file(&p->inputs[p->ninputs - 1]))
		p->unknown = "a file that changed meanwhile";
	return code;
}

/* The compiler compiles, and the library is told. */
static int build(struct rtc_program *p, enum rtc_function f, void *const a[RTC_ARGUMENTS], uint64_t ticket)
{
	struct message m = {0};
	ksf_step step;
	uint64_t from = nanoseconds();
	int code = step_real(p, f, a);
	uint64_t took = nanoseconds() - from;
	if (code == 0 && p->unknown == NULL && gather(p, &m)) {
		message_result(&m, KSF_BUILT, code, took);
	} else {
		message_free(&m);
		message_result(&m, is_refusal(p->library->api, code) ? KSF_FAILED : KSF_ABANDONED, code, took);
	}
	library_next(&rtc_front_end, ticket, &m, &step);
	library_end(&rtc_front_end, step.ticket);
	return code;
}

/* What the library is asked. detail: 0 for the compile, 1 for adding the last input. */
static uint32_t begin(struct rtc_program *p, uint32_t detail, unsigned n, const char *const *options, ksf_step *step)
{
	struct message m = {0};
	rtc_add_library(&m, p, detail);
	message_number(&m, KSF_AGE, 0, nanoseconds() - p->added);
	for (unsigned i = 0; i < p->ninputs; i++) {
		const struct rtc_input *in = &p->inputs[i];
		message_number(&m, KSF_UNIT, in->kind, in->too);
		message_text(&m, KSF_NAME, in->name);
		message_add(&m, (ksf_field){.tag = KSF_CODE, .data = in->data, .size = in->size});
		p->asked += in->size;
	}
	rtc_add_all(&m, KSF_OPTIONS, (char *const *)options, n);
	rtc_add_all(&m, KSF_EXPRESSION, p->expressions, p->nexpressions);
	return library_begin(&rtc_front_end, p->library->api->number, &m, step);
}

/* What comes of a step is asked for, and made where it is not known. */
static int step(struct rtc_program *p, enum rtc_function f, void *const a[RTC_ARGUMENTS], unsigned n, const char *const *options)
{
	ksf_step step;
	bool input = f != RTC_COMPILE;
	uint32_t action = begin(p, input, n, options, &step);
	if (action == KSF_HIT) {
		ksf_message *copy = message_copy(&step.message);
		library_end(&rtc_front_end, step.ticket);
		if (copy != NULL) {
			free(p->answers);
			p->answers = copy;
			p->served = true;
			p->owed = !input;
			return 0;
		}
	}
	give_late(p, p->ninputs - input);
	return action == KSF_BUILD ? build(p, f, a, step.ticket) : step_real(p, f, a);
}

static int add_input(struct rtc_program *p, enum rtc_function f, void *const a[RTC_ARGUMENTS])
{
	int before = errno;
	const char *why = p->unknown != NULL ? p->unknown : p->compiled ? "an input after the compile" : mode();
	if (why == NULL)
		why = remember(p, f, a);
	errno = before;
	if (why != NULL)
		return pass(p, f, a, why);
	uint32_t kind = p->inputs[p->ninputs - 1].kind;
	/* Of these the compile makes something; others are compiled when they are added, or may hold PTX, which is. */
	bool waits = kind == CUBIN || kind == LTOIR || kind == LIBRARY || !is_linker(p);
	if (waits && p->given == p->ninputs - 1)
		return step_real(p, f, a);
	return step(p, f, a, p->noptions, (const char *const *)p->options);
}

static int compile(struct rtc_program *p, void *const a[RTC_ARGUMENTS])
{
	int n = is_linker(p) ? (int)p->noptions : (int)(intptr_t)a[1];
	const char *const *options = is_linker(p) ? (const char *const *)p->options : a[2];
	const char *why = p->compiled ? "compiled again" : p->unknown != NULL ? p->unknown : mode();
	if (why == NULL)
		why = !rtc_are_options(n, options) ? "options that make no sense" : p->ninputs == 0 ? "no input" : NULL;
	if (why == NULL && !is_linker(p)) {
		p->options = rtc_copy_list(options, (unsigned)n);
		p->noptions = p->options == NULL ? 0 : (unsigned)n;
		why = p->options == NULL ? "no memory" : NULL;
	}
	if (why != NULL)
		return pass(p, RTC_COMPILE, a, why);
	p->compiled = true;
	return step(p, RTC_COMPILE, a, p->noptions, (const char *const *)p->options);
}

/* Answers a function by what is stored. false: the real program is to be asked. */
static bool answer(const struct rtc_program *p, enum rtc_function f, void *const a[RTC_ARGUMENTS], int *code)
{
	*code = 0;
	if (!p->served || a[1] == NULL || f < RTC_SIZE || f >= RTC_OTHER)
		return false;
	unsigned piece = f < RTC_GET ? f - RTC_SIZE : f - RTC_GET;
	const ksf_field *stored = piece == LOG_PIECE ? message_find(p->answers, KSF_LOG, 0) : message_find(p->answers, KSF_BINARY, piece);
	if (stored == NULL || (stored->number != 0 && f >= RTC_GET))
		return false;
	if (stored->number != 0)
		*code = (int)stored->number;
	else if (f < RTC_GET)
		*(size_t *)a[1] = stored->size;
	else if (stored->size > 0)
		memcpy(a[1], stored->data, stored->size);
	else if (piece == LOG_PIECE || piece == RTC_ERROR_LOG)
		*code = call_real(p, f, a); /* where it is as empty */
	else
		return false;
	return true;
}

static int ask(struct rtc_program *p, enum rtc_function f, void *const a[RTC_ARGUMENTS])
{
	int code;
	if (answer(p, f, a, &code))
		return code;
	give_late(p, p->ninputs);
	code = call_real(p, f, a);
	if (f < RTC_OTHER || p->compiled)
		return code;
	/* What it does to the compile, or to its log, is not known; but a program that is found to be good is another. */
	int n = (int)(intptr_t)a[1];
	if (is_linker(p) || code != 0 || !rtc_are_options(n, a[2])) {
		p->unknown = "asked for something before the compile";
		return code;
	}
	rtc_add_expression(p, "verified");
	for (int i = 0; i < n; i++)
		rtc_add_expression(p, ((const char *const *)a[2])[i]);
	return code;
}

static int create(struct rtc_caller c, void *const a[RTC_ARGUMENTS])
{
	struct rtc_library *l = rtc_aside() ? NULL : rtc_library_for(&c);
	any_fn real;
	*(void **)&real = l != NULL ? l->real[RTC_CREATE] : rtc_real(&c, RTC_CREATE);
	if (real == NULL)
		return c.api->missing;
	int code = real(a[0], a[1], a[2], a[3], a[4]);
	void **handle = a[0];
	unsigned n = c.api->number == RTC_NVJITLINK ? (uint32_t)(uintptr_t)a[1] : 0;
	if (code != 0 || l == NULL || handle == NULL || *handle == NULL || !rtc_are_options((int)n, a[2]))
		return code;
	struct rtc_program *p = calloc(1, sizeof *p);
	if (p == NULL)
		return code;
	if (n > 0 && (p->options = rtc_copy_list(a[2], n)) == NULL) {
		free(p);
		return code;
	}
	p->noptions = n;
	rtc_program_insert(l, *handle, p);
	return code;
}

int rtc_call_inputs(struct rtc_caller c, enum rtc_function f, void *const a[RTC_ARGUMENTS])
{
	if (f == RTC_CREATE)
		return create(c, a);
	if (f == RTC_DESTROY)
		return rtc_destroy(c, a[0]);
	any_fn real;
	struct rtc_program *p = rtc_enter(&c, f, a[0], &real);
	if (p == NULL)
		return real == NULL ? c.api->missing : real(a[0], a[1], a[2], a[3], a[4]);
	int code = f == RTC_COMPILE ? compile(p, a) : f == RTC_INPUT || f == RTC_INPUT_TOO ? add_input(p, f, a) : ask(p, f, a);
	rtc_program_leave(p);
	return code;
}
