/*
 * library.c: libkernstash.so, opened at the first build and never before, and
 * the reasons to stay out.
 */
#include "shim.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { CLOSED, OPENING, OPEN, OUT, FORKED };

static atomic_int state = CLOSED;
static const ksl_api *api; /* set before state is OPEN */
static atomic_int opener;  /* the process that opened it */

/* What would end a string of JSON, or is no text, is written as '?'. */
static void plain(char *to, size_t size, const char *text)
{
	size_t n = 0;
	for (; text[n] != 0 && n + 1 < size; n++)
		to[n] = (unsigned char)text[n] < ' ' || text[n] == '"' || text[n] == '\\' ? '?' : text[n];
	to[n] = 0;
}

void report(const char *event, const char *name, const char *value)
{
	char line[512], safe[384];
	const char *file = secure_getenv("KERNSTASH_REPORT");
	if (file == NULL || *file == 0)
		return;
	plain(safe, sizeof(safe), value);
	int n = snprintf(line, sizeof(line), "{\"event\":\"%s\",\"pid\":%d,\"%s\":\"%s\"}\n", event, (int)getpid(), name, safe);
	if (n < 0 || (size_t)n >= sizeof(line))
		return;
	int saved = errno;
	/* Whoever made the file removes it when nobody is to write any more. */
	int fd = open(file, O_WRONLY | O_APPEND | O_CLOEXEC | O_NOCTTY | O_NOFOLLOW | O_NONBLOCK);
	struct stat is;
	if (fd >= 0 && (fstat(fd, &is) != 0 || !S_ISREG(is.st_mode))) {
		close(fd);
		fd = -1;
	}
	if (fd >= 0) {
		/* A report that can not be written is none; nothing else can be done. */
		ssize_t written = write(fd, line, (size_t)n);
		(void)written;
		close(fd);
	}
	errno = saved;
}

static const ksl_api *stay_out(const char *reason)
{
	report("out", "reason", reason);
	atomic_store(&state, OUT);
	return NULL;
}

/* Beside the shim, or where the environment says. */
static bool library_path(char *path, size_t size)
{
	const char *named = secure_getenv("KERNSTASH_LIBRARY");
	if (named != NULL && *named == '/')
		return (size_t)snprintf(path, size, "%s", named) < size;
	Dl_info info;
	char real[PATH_MAX];
	static const char here;
	if (dladdr(&here, &info) == 0 || info.dli_fname == NULL || realpath(info.dli_fname, real) == NULL)
		return false;
	char *slash = strrchr(real, '/');
	if (slash == NULL)
		return false;
	*slash = 0;
	return (size_t)snprintf(path, size, "%s/libkernstash.so.1", real) < size;
}

/* A Go runtime reserves address space. */
static bool space_is_short(void)
{
	struct rlimit limit;
	return getrlimit(RLIMIT_AS, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY && limit.rlim_cur < (rlim_t)4 << 30;
}

/* The library's runtime takes SIGURG, for itself, from a host that had a handler,
 * and does not pass it on as it does the others: a host that is written in Go
 * could not stop its own goroutines any more. It gets its handler back, to run on
 * the alternate stack where the thread has one: the library's threads have, and
 * small stacks otherwise. The library does without the signal. */
static struct sigaction urgent;
static atomic_bool urgent_taken;

static void note_urgent(void)
{
	bool own = sigaction(SIGURG, NULL, &urgent) == 0 &&
		((urgent.sa_flags & SA_SIGINFO) != 0 || (urgent.sa_handler != SIG_DFL && urgent.sa_handler != SIG_IGN));
	atomic_store(&urgent_taken, own);
}

static void give_urgent_back(void)
{
	struct sigaction now;
	if (!atomic_load(&urgent_taken) || sigaction(SIGURG, NULL, &now) != 0)
		return;
	/* The runtime starts beside the host: it may not have come to it yet. */
	if (now.sa_handler == urgent.sa_handler || !atomic_exchange(&urgent_taken, false))
		return;
	urgent.sa_flags |= SA_ONSTACK;
	sigaction(SIGURG, &urgent, NULL);
}

static const ksl_api *open_library(void)
{
	char path[PATH_MAX];
	const char *reason;
	if (door_closed(&reason))
		return stay_out(reason);
	if (space_is_short())
		return stay_out("address-space limit");
	/* It takes a Go runtime's stacks for errors, thousands of them. */
	const char *preloaded = getenv("LD_PRELOAD");
	if (preloaded != NULL && strstr(preloaded, "/vgpreload_") != NULL)
		return stay_out("valgrind");
	if (!library_path(path, sizeof(path)))
		return stay_out("library not found");
	note_urgent();
	void *handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	if (handle == NULL)
		return stay_out(access(path, F_OK) == 0 ? "library not loadable" : "library not found");
	const ksl_api *(*get)(uint32_t);
	*(void **)&get = dlsym(handle, "kernstash_layer_api");
	const ksl_api *found = get == NULL ? NULL : get(KSL_ABI);
	if (found == NULL || found->abi != KSL_ABI || found->size < sizeof(*found))
		return stay_out("library of another release, or off");
	api = found;
	atomic_store(&opener, (int)getpid());
	atomic_store(&state, OPEN);
	return found;
}

void library_forked(void)
{
	int s = atomic_load(&state);
	if (s == OPEN || s == OPENING)
		atomic_store(&state, FORKED);
}

const ksl_api *library_if_open(void)
{
	if (atomic_load(&state) != OPEN)
		return NULL;
	/* A child made by the bare system call has run no handler. */
	if (atomic_load(&opener) != (int)getpid()) {
		atomic_store(&state, FORKED);
		return NULL;
	}
	return api;
}

const ksl_api *library(void)
{
	static pthread_mutex_t opening = PTHREAD_MUTEX_INITIALIZER;
	const ksl_api *found = library_if_open();
	if (found != NULL)
		return found;
	switch (atomic_load(&state)) {
	case FORKED:
		return stay_out("forked after the library was opened");
	case OUT:
		return NULL;
	}
	pthread_mutex_lock(&opening);
	int expected = CLOSED;
	if (atomic_compare_exchange_strong(&state, &expected, OPENING)) {
		int saved = errno;
		found = open_library();
		errno = saved;
	} else {
		found = library_if_open();
	}
	pthread_mutex_unlock(&opening);
	return found;
}

/* Calls of the library need a stack of some size, which small threads have not. */

enum { STACK_NEEDED = 256 << 10, STACK_GIVEN = 1 << 20 };

struct call {
	const ksl_api *api;
	enum { BEGIN, NEXT, END, LAUNCHED, RELEASED, PASSED, UNCHANGED } what;
	const ksl_request *request;
	ksl_reply *reply;
	uint64_t number; /* ticket or program */
	uint32_t n;
	const ksl_outcome *outcomes;
	const char *text;
	const size_t *offset, *global, *local;
	uint32_t result;
};

static void *make(void *argument)
{
	struct call *c = argument;
	switch (c->what) {
	case BEGIN:
		c->result = c->api->begin(c->request, c->reply);
		break;
	case NEXT:
		c->result = c->api->next(c->number, c->n, c->outcomes, c->reply);
		break;
	case END:
		c->api->end(c->number);
		break;
	case LAUNCHED:
		c->api->launched(c->number, c->text, c->n, c->offset, c->global, c->local);
		break;
	case RELEASED:
		c->api->released(c->number);
		break;
	case PASSED:
		c->api->passed(c->text);
		break;
	case UNCHANGED:
		c->result = c->api->unchanged(c->number);
		break;
	}
	return NULL;
}

static bool stack_is_small(void)
{
	pthread_attr_t attributes;
	void *low;
	size_t size;
	char here;
	if (syscall(SYS_gettid) == getpid()) /* the first thread's stack grows */
		return false;
	if (pthread_getattr_np(pthread_self(), &attributes) != 0)
		return false;
	int code = pthread_attr_getstack(&attributes, &low, &size);
	pthread_attr_destroy(&attributes);
	/* On another stack (a coroutine's) nothing is known: taken as small. */
	uintptr_t at = (uintptr_t)&here, from = (uintptr_t)low;
	return code == 0 && (at < from || at - from < STACK_NEEDED || at - from > size);
}

static void call(struct call *c)
{
	int saved = errno;
	if (stack_is_small()) {
		pthread_attr_t attributes;
		pthread_t thread;
		sigset_t all, before;
		pthread_attr_init(&attributes);
		pthread_attr_setstacksize(&attributes, STACK_GIVEN);
		sigfillset(&all);
		pthread_sigmask(SIG_SETMASK, &all, &before);
		int code = pthread_create(&thread, &attributes, make, c);
		pthread_sigmask(SIG_SETMASK, &before, NULL);
		pthread_attr_destroy(&attributes);
		if (code == 0)
			pthread_join(thread, NULL);
		/* No thread: nothing is called, and the result is PASS. */
	} else {
		make(c);
	}
	errno = saved;
}

uint32_t library_begin(const ksl_api *a, const ksl_request *request, ksl_reply *reply)
{
	struct call c = {.api = a, .what = BEGIN, .request = request, .reply = reply, .result = KSL_PASS};
	call(&c);
	give_urgent_back();
	return c.result;
}

uint32_t library_next(const ksl_api *a, uint64_t ticket, uint32_t n, const ksl_outcome *outcomes, ksl_reply *reply)
{
	struct call c = {.api = a, .what = NEXT, .number = ticket, .n = n, .outcomes = outcomes, .reply = reply, .result = KSL_PASS};
	call(&c);
	return c.result;
}

void library_end(const ksl_api *a, uint64_t ticket)
{
	struct call c = {.api = a, .what = END, .number = ticket};
	call(&c);
}

void library_launched(const ksl_api *a, uint64_t program, const char *kernel, cl_uint dimensions, const size_t *offset,
	const size_t *global, const size_t *local)
{
	struct call c = {.api = a, .what = LAUNCHED, .number = program, .text = kernel, .n = dimensions, .offset = offset,
		.global = global, .local = local};
	call(&c);
}

void library_released(uint64_t program)
{
	struct call c = {.api = library_if_open(), .what = RELEASED, .number = program};
	if (c.api != NULL)
		call(&c);
}

bool library_unchanged(uint64_t compiled)
{
	struct call c = {.api = library_if_open(), .what = UNCHANGED, .number = compiled};
	if (c.api != NULL)
		call(&c);
	return c.result != 0;
}

void library_passed(const char *reason)
{
	struct call c = {.api = library(), .what = PASSED, .text = reason};
	if (c.api != NULL)
		call(&c);
}
