/*
 * ask.c: what is asked of libkernstash.so, on a stack that is large enough for it.
 */
#include "library.h"

#include <stddef.h>

struct call {
	struct library_door *door;
	const ksf_api *api;
	enum { BEGIN, NEXT, END, TELL } function;
	uint32_t what;
	uint64_t ticket;
	ksf_message message;
	ksf_step *step;
};

static void make(void *argument)
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
}

static void call(struct call c, const struct message *m)
{
	if (c.step != NULL)
		*c.step = (ksf_step){.action = KSF_PASS, .ticket = c.ticket}; /* where it is not called: the ticket is still to be ended */
	if (m != NULL)
		c.message = (ksf_message){m->fields, m->count};
	if (c.api != NULL)
		library_call(make, &c);
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
