#include "front.h"

#include <sys/syscall.h>
#include <unistd.h>

/* Asks Go for a step, and waits until there is one. */
static uint32_t step(enum ks_entry entry, ksf_call *c)
{
	if (c->step == NULL)
		return KSF_PASS;
	memset(c->step, 0, sizeof *c->step);
	c->step->ticket = c->ticket; /* where Go is not asked it is still to be ended */
	if (!ks_usable())
		return KSF_PASS;
	c->thread = syscall(SYS_gettid);
	c->event = (uint32_t)c->thread;
	uint32_t seen = ks_event_now(c->event);
	if (!ks_enter(entry, c))
		return KSF_PASS;
	while (c->pending) {
		ks_event_wait(c->event, seen);
		seen = ks_event_now(c->event);
		if (!ks_enter(ksf_go_wait, c)) {
			c->step->ticket = c->ticket;
			return KSF_PASS;
		}
	}
	return c->step->action;
}

static uint32_t begin(uint32_t front, uint32_t what, const ksf_message *request, ksf_step *s)
{
	ksf_call c = {.front = front, .what = what, .message = request, .step = s};
	return step(ksf_go_begin, &c);
}

static uint32_t next(uint32_t front, uint64_t ticket, const ksf_message *result, ksf_step *s)
{
	ksf_call c = {.front = front, .ticket = ticket, .message = result, .step = s};
	return step(ksf_go_next, &c);
}

static void end(uint32_t front, uint64_t ticket)
{
	ksf_call c = {.front = front, .ticket = ticket};
	ks_enter(ksf_go_end, &c);
}

static void tell(uint32_t front, uint32_t what, const ksf_message *event)
{
	ksf_call c = {.front = front, .what = what, .message = event};
	ks_enter(ksf_go_tell, &c);
}

__attribute__((visibility("default"))) const ksf_api *kernstash_front(uint32_t abi, const char *runtime, uint32_t *front)
{
	static const ksf_api api = {sizeof api, KSF_ABI, begin, next, end, tell};
	ksf_call c = {.runtime = runtime};

	if (abi != KSF_ABI || !ks_enter(ksf_go_open, &c) || c.front == 0)
		return NULL;
	*front = c.front;
	return &api;
}
