/*
 * ask.c: what is asked of libkernstash.so, on a stack that is large enough for it.
 */
#include "library.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stddef.h>
#include <sys/syscall.h>
#include <unistd.h>

struct call {
	struct library_door *door;
	const ksf_api *api;
	enum { BEGIN, NEXT, END, TELL } function;
	uint32_t what;
	uint64_t ticket;
	ksf_message message;
	ksf_step *step;
};

static void *make(void *argument)
{
	struct call *c = argument;
	switch (c->function) {
	case BEGIN:
		c->api->begin(c->door->front, c->what, &c->message, c->step);
		break;
	case NEXT:
		c->api->next(c->door->front, c->ticket, &c->message, c->step);
		break;
	case END:
		c->api->end(c->door->front, c->ticket);
		break;
	case TELL:
		c->api->tell(c->door->front, c->what, &c->message);
		break;
	}
	return NULL;
}

enum { STACK_NEEDED = 256 << 10, STACK_GIVEN = 1 << 20 };

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

/* Makes it, on a stack that is large enough: small threads have none. Where there is no memory for
 * one it is not made. errno stays what it was. */
static void make_on_stack(struct call *c)
{
	int saved = errno, before = library_uncancelled();
	if (stack_is_small()) {
		pthread_attr_t attributes;
		pthread_t thread;
		sigset_t all, own;
		pthread_attr_init(&attributes);
		pthread_attr_setstacksize(&attributes, STACK_GIVEN);
		sigfillset(&all);
		pthread_sigmask(SIG_SETMASK, &all, &own);
		int code = pthread_create(&thread, &attributes, make, c);
		pthread_sigmask(SIG_SETMASK, &own, NULL);
		pthread_attr_destroy(&attributes);
		if (code == 0)
			pthread_join(thread, NULL);
		/* No thread: nothing is called. */
	} else {
		make(c);
	}
	library_cancelled(before);
	errno = saved;
}

static void call(struct call c, const struct message *m)
{
	if (c.step != NULL)
		*c.step = (ksf_step){.action = KSF_PASS, .ticket = c.ticket}; /* where it is not called: the ticket is still to be ended */
	if (m != NULL)
		c.message = (ksf_message){m->fields, m->count};
	if (c.api != NULL)
		make_on_stack(&c);
}

uint32_t library_begin(struct library_door *d, uint32_t what, const struct message *request, ksf_step *step)
{
	call((struct call){.door = d, .api = request->failed ? NULL : library_open(d), .function = BEGIN, .what = what, .step = step}, request);
	return step->action;
}

uint32_t library_next(struct library_door *d, uint64_t ticket, const struct message *result, ksf_step *step)
{
	static const struct message nothing;
	call((struct call){.door = d, .api = library_opened(d), .function = NEXT, .ticket = ticket, .step = step},
		result->failed ? &nothing : result);
	return step->action;
}

void library_end(struct library_door *d, uint64_t ticket)
{
	if (ticket != 0)
		call((struct call){.door = d, .api = library_opened(d), .function = END, .ticket = ticket}, NULL);
}

void library_tell(struct library_door *d, uint32_t what, const struct message *event)
{
	if (!event->failed)
		call((struct call){.door = d, .api = library_opened(d), .function = TELL, .what = what}, event);
}

void library_passed(struct library_door *d, uint32_t what, const char *reason)
{
	struct message m = {0};
	message_text(&m, KSF_PASSED, reason);
	if (library_open(d) != NULL)
		library_tell(d, what, &m);
	message_free(&m);
}
