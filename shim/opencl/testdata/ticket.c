/*
 * ticket.c: a thread with a small stack asks for a program, and the thread that is to say how
 * it went cannot be made. Exits with 0 if the ticket is still known then, and ended.
 */
#define _GNU_SOURCE
#include "../../../capi/front/front.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "../../../capi/kernstash_front.h"

#define CHECK(condition) \
	do { \
		if (!(condition)) { \
			fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #condition); \
			exit(1); \
		} \
	} while (0)

static bool refused; /* no thread can be made */
static int made;     /* threads that calls were made on */

int __real_pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*function)(void *), void *argument);
int __wrap_pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*function)(void *), void *argument);

int __wrap_pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*function)(void *), void *argument)
{
	if (refused)
		return EAGAIN;
	made++;
	return __real_pthread_create(thread, attributes, function, argument);
}

enum { TICKET = 7 };
static int nexts;
static uint64_t ended;

/* In the place of Go. */
static bool call_go(int entry, void *argument)
{
	ksf_call *c = argument;
	switch (entry) {
	case ksf_go_open:
		c->front = 1;
		break;
	case ksf_go_begin:
		*c->step = (ksf_step){.action = KSF_BUILD, .ticket = TICKET};
		break;
	case ksf_go_next:
		nexts++;
		*c->step = (ksf_step){.action = KSF_DONE};
		break;
	case ksf_go_end:
		ended = c->ticket;
		break;
	}
	return false; /* no write has failed */
}

static const struct ks_go go = {.call = call_go};

bool ks_usable(void) { return true; }
const struct ks_go *ks_load(void) { return &go; }
void ks_note_main(void) {}
uint32_t ks_event_now(uint32_t event) { return event; }
void ks_event_wait(uint32_t event, uint32_t seen) { (void)event, (void)seen; }

static void *ask(void *unused)
{
	const ksf_message empty = {NULL, 0};
	uint32_t front;
	ksf_step step;
	const ksf_api *api = kernstash_front(KSF_ABI, "test", &front);
	CHECK(api != NULL && api->begin(front, 1, &empty, &step) == KSF_BUILD && step.ticket == TICKET);
	refused = true;
	CHECK(api->next(front, step.ticket, &empty, &step) == KSF_PASS && nexts == 0);
	CHECK(step.ticket == TICKET); /* whoever asked has to end it */
	refused = false;
	api->end(front, step.ticket);
	CHECK(ended == TICKET);
	CHECK(api->next(front, TICKET, &empty, &step) == KSF_DONE && nexts == 1 && step.ticket == 0);
	return unused;
}

int main(void)
{
	pthread_attr_t attributes;
	pthread_t thread;
	pthread_attr_init(&attributes);
	pthread_attr_setstacksize(&attributes, 64 << 10);
	CHECK(pthread_create(&thread, &attributes, ask, NULL) == 0 && pthread_join(thread, NULL) == 0);
	CHECK(made == 1 + 4); /* the thread, and one for each call that could be made */
	return 0;
}
