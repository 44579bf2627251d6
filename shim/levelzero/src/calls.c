/*
 * calls.c: what the shim asks libkernstash.so, each on a stack that is large enough for
 * it.
 */
#include "shim.h"

#include <pthread.h>

static struct library_door door = LIBRARY_DOOR("kernstash_levelzero_api", KSZ_ABI, ksz_api, NULL);

static void in_child(void) { library_forked(&door); }

static void guard_fork(void) { pthread_atfork(NULL, NULL, in_child); }

const ksz_api *lz_library(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	pthread_once(&once, guard_fork);
	return library_open(&door);
}

static _Thread_local int aside;

/* While on, modules that this thread makes are nobody's business but the driver's: the
 * caller is a cache itself. */
EXPORT void kernstash_levelzero_aside(int on);
EXPORT void kernstash_levelzero_aside(int on) { aside = on; }

bool lz_stepped_aside(void) { return aside != 0; }

struct call {
	const ksz_api *api;
	enum { BEGIN, NEXT, END, PASSED } what;
	const ksz_request *request;
	ksz_reply *reply;
	uint64_t ticket;
	const ksz_outcome *outcome;
	const char *text;
	uint32_t result;
};

static void make(void *argument)
{
	struct call *c = argument;
	switch (c->what) {
	case BEGIN:
		c->result = c->api->begin(c->request, c->reply);
		break;
	case NEXT:
		c->result = c->api->next(c->ticket, c->outcome, c->reply);
		break;
	case END:
		c->api->end(c->ticket);
		break;
	case PASSED:
		c->api->passed(c->text);
		break;
	}
}

uint32_t lz_begin(const ksz_api *a, const ksz_request *request, ksz_reply *reply)
{
	struct call c = {.api = a, .what = BEGIN, .request = request, .reply = reply, .result = KSZ_PASS};
	library_call(make, &c);
	return c.result;
}

uint32_t lz_next(const ksz_api *a, uint64_t ticket, const ksz_outcome *outcome, ksz_reply *reply)
{
	struct call c = {.api = a, .what = NEXT, .ticket = ticket, .outcome = outcome, .reply = reply, .result = KSZ_PASS};
	library_call(make, &c);
	return c.result;
}

void lz_end(const ksz_api *a, uint64_t ticket)
{
	struct call c = {.api = a, .what = END, .ticket = ticket};
	library_call(make, &c);
}

void lz_passed(const char *reason)
{
	struct call c = {.api = lz_library(), .what = PASSED, .text = reason};
	if (c.api != NULL)
		library_call(make, &c);
}
