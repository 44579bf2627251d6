/*
 * ask.c: what is asked of libkernstash.so. The thread is not cancelled meanwhile, and its errno
 * stays what it was.
 */
#include "library.h"

#include <errno.h>

struct guard {
	int error, cancel;
};

static struct guard enter(void) { return (struct guard){errno, library_uncancelled()}; }

static void leave(struct guard g)
{
	library_cancelled(g.cancel);
	errno = g.error;
}

static ksf_message sent(const struct message *m) { return m->failed ? (ksf_message){NULL, 0} : (ksf_message){m->fields, m->count}; }

uint32_t library_begin(struct library_front *d, uint32_t what, const struct message *request, ksf_step *step)
{
	const ksf_message m = sent(request);
	const ksf_api *api = request->failed ? NULL : library_open(d);
	*step = (ksf_step){.action = KSF_PASS};
	struct guard g = enter();
	if (api != NULL)
		api->begin(d->front, what, &m, step);
	leave(g);
	return step->action;
}

uint32_t library_next(struct library_front *d, uint64_t ticket, const struct message *result, ksf_step *step)
{
	const ksf_message m = sent(result);
	const ksf_api *api = library_opened(d);
	*step = (ksf_step){.action = KSF_PASS, .ticket = ticket}; /* where it is not asked: the ticket is still to be ended */
	struct guard g = enter();
	if (api != NULL)
		api->next(d->front, ticket, &m, step);
	leave(g);
	return step->action;
}

void library_end(struct library_front *d, uint64_t ticket)
{
	const ksf_api *api = ticket == 0 ? NULL : library_opened(d);
	struct guard g = enter();
	if (api != NULL)
		api->end(d->front, ticket);
	leave(g);
}

void library_tell(struct library_front *d, uint32_t what, const struct message *event)
{
	const ksf_message m = sent(event);
	const ksf_api *api = event->failed ? NULL : library_opened(d);
	struct guard g = enter();
	if (api != NULL)
		api->tell(d->front, what, &m);
	leave(g);
}

void library_passed(struct library_front *d, uint32_t what, const char *reason)
{
	struct message m = {0};
	message_text(&m, KSF_PASSED, reason);
	if (library_open(d) != NULL)
		library_tell(d, what, &m);
	message_free(&m);
}
