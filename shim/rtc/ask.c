/*
 * ask.c: what is asked of libkernstash.so, on a stack that is large enough for it.
 */
#include "rtc.h"

static struct library_door door = LIBRARY_DOOR("kernstash_rtc_api", KSR_ABI, ksr_api, NULL);

static _Thread_local int aside;

void kernstash_rtc_aside(int on) { aside = on; }

bool rtc_stepped_aside(void) { return aside != 0; }

void rtc_forked(void) { library_forked(&door); }

struct call {
	const ksr_api *api;
	enum { BEGIN, DONE, PASSED } what;
	const ksr_request *request;
	ksr_reply *reply;
	const ksr_outcome *outcome;
	const char *reason;
	uint64_t ticket;
	uint32_t number;
	uint32_t result;
};

static void make(void *argument)
{
	struct call *c = argument;
	switch (c->what) {
	case BEGIN:
		c->result = c->api->begin(c->request, c->reply);
		break;
	case DONE:
		if (c->outcome != NULL)
			c->api->done(c->ticket, c->outcome);
		else
			c->api->end(c->ticket);
		break;
	case PASSED:
		c->api->passed(c->number, c->reason);
		break;
	}
}

uint32_t rtc_begin(const ksr_request *request, ksr_reply *reply)
{
	struct call c = {.api = library_open(&door), .what = BEGIN, .request = request, .reply = reply, .result = KSR_PASS};
	if (c.api != NULL)
		library_call(make, &c);
	return c.result;
}

void rtc_done(uint64_t ticket, const ksr_outcome *outcome)
{
	struct call c = {.api = library_opened(&door), .what = DONE, .ticket = ticket, .outcome = outcome};
	if (c.api != NULL)
		library_call(make, &c);
}

void rtc_end(uint64_t ticket) { rtc_done(ticket, NULL); }

void rtc_passed(const struct rtc_api *api, const char *reason)
{
	struct call c = {.api = library_open(&door), .what = PASSED, .number = api->number, .reason = reason};
	if (c.api != NULL)
		library_call(make, &c);
}
