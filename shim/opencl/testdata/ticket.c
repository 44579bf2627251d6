/*
 * ticket.c: a thread with a small stack asks for a program, and the thread that is to say how
 * it went cannot be made. Exits with 0 if the ticket is still known then, and ended.
 */
#include "../../library/ask.c"

#include <stdio.h>
#include <stdlib.h>

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

static uint32_t begin(uint32_t front, uint32_t what, const ksf_message *request, ksf_step *step)
{
	(void)front, (void)what, (void)request;
	*step = (ksf_step){.action = KSF_BUILD, .ticket = TICKET};
	return step->action;
}

static uint32_t next(uint32_t front, uint64_t ticket, const ksf_message *result, ksf_step *step)
{
	(void)front, (void)ticket, (void)result;
	nexts++;
	*step = (ksf_step){.action = KSF_DONE};
	return step->action;
}

static void end(uint32_t front, uint64_t ticket)
{
	(void)front;
	ended = ticket;
}

static const ksf_api api = {.size = sizeof api, .abi = KSF_ABI, .begin = begin, .next = next, .end = end};

const ksf_api *library_open(struct library_door *d)
{
	(void)d;
	return &api;
}

const ksf_api *library_opened(struct library_door *d)
{
	return library_open(d);
}

int library_uncancelled(void)
{
	return 0;
}

void library_cancelled(int before)
{
	(void)before;
}

void message_free(struct message *m)
{
	(void)m;
}

void message_text(struct message *m, uint32_t tag, const char *text)
{
	(void)m, (void)tag, (void)text;
}

static void *ask(void *unused)
{
	struct library_door door = {.runtime = "test"};
	struct message empty = {0};
	ksf_step step;
	CHECK(library_begin(&door, 1, &empty, &step) == KSF_BUILD && step.ticket == TICKET);
	refused = true;
	CHECK(library_next(&door, step.ticket, &empty, &step) == KSF_PASS && nexts == 0);
	CHECK(step.ticket == TICKET); /* whoever asked has to end it */
	refused = false;
	library_end(&door, step.ticket);
	CHECK(ended == TICKET);
	CHECK(library_next(&door, TICKET, &empty, &step) == KSF_DONE && nexts == 1 && step.ticket == 0);
	return unused;
}

int main(void)
{
	pthread_attr_t attributes;
	pthread_t thread;
	pthread_attr_init(&attributes);
	pthread_attr_setstacksize(&attributes, 64 << 10);
	CHECK(pthread_create(&thread, &attributes, ask, NULL) == 0 && pthread_join(thread, NULL) == 0);
	CHECK(made == 1 + 3); /* the thread, and one for each call that could be made */
	return 0;
}
