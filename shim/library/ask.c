/* ask.c: messages to and from libkernstash.so, and what it is asked. */
#include "library.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

void message_add(struct message *m, ksf_field field)
{
	if (m->count == m->room) {
		size_t room = m->room == 0 ? 16 : 2 * m->room;
		ksf_field *fields = realloc(m->fields, room * sizeof *fields);
		if (fields == NULL) {
			m->failed = true;
			return;
		}
		m->fields = fields;
		m->room = room;
	}
	m->fields[m->count++] = field;
}

void message_text(struct message *m, uint32_t tag, const char *text)
{
	if (text != NULL)
		message_add(m, (ksf_field){.tag = tag, .data = text, .size = strlen(text)});
}

void message_number(struct message *m, uint32_t tag, uint32_t detail, uint64_t number)
{
	message_add(m, (ksf_field){.tag = tag, .detail = detail, .number = number});
}

void message_result(struct message *m, uint32_t result, int32_t code, uint64_t nanoseconds)
{
	message_number(m, KSF_ENDED, result, nanoseconds);
	message_number(m, KSF_STATUS, (uint32_t)code, 0);
}

void *message_own(struct message *m, void *memory)
{
	void **owned = memory == NULL ? NULL : realloc(m->owned, (m->nowned + 1) * sizeof *owned);
	if (owned == NULL) {
		free(memory);
		m->failed = true;
		return NULL;
	}
	m->owned = owned;
	return owned[m->nowned++] = memory;
}

void message_free(struct message *m)
{
	for (size_t i = 0; i < m->nowned; i++)
		free(m->owned[i]);
	free(m->owned);
	free(m->fields);
	memset(m, 0, sizeof *m);
}

const ksf_field *message_find(const ksf_message *m, uint32_t tag, uint32_t detail)
{
	for (size_t i = 0; i < m->count; i++)
		if (m->fields[i].tag == tag && m->fields[i].detail == detail)
			return &m->fields[i];
	return NULL;
}

ksf_message *message_copy(const ksf_message *m)
{
	size_t size = sizeof *m + m->count * sizeof *m->fields;
	for (size_t i = 0; i < m->count; i++)
		size += m->fields[i].size + 1;
	ksf_message *copy = malloc(size);
	if (copy == NULL)
		return NULL;
	ksf_field *fields = (ksf_field *)(copy + 1);
	char *at = (char *)(fields + m->count);
	for (size_t i = 0; i < m->count; i++) {
		fields[i] = m->fields[i];
		if (fields[i].data == NULL)
			continue;
		if (fields[i].size > 0)
			memcpy(at, fields[i].data, fields[i].size);
		fields[i].data = at;
		at += fields[i].size;
		*at++ = 0;
	}
	*copy = (ksf_message){fields, m->count};
	return copy;
}

uint64_t nanoseconds(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* The thread is not cancelled while the library is asked, and its errno stays what it was. */
struct guard {
	int error, cancel;
};

static struct guard enter(void) { return (struct guard){errno, library_uncancelled()}; }

static void leave(struct guard g)
{
	library_cancelled(g.cancel);
	errno = g.error;
}

uint32_t library_begin(struct library_front *d, uint32_t what, struct message *request, ksf_step *step)
{
	const ksf_message m = {request->fields, request->count};
	const ksf_api *api = request->failed ? NULL : library_open(d);
	*step = (ksf_step){.action = KSF_PASS};
	struct guard g = enter();
	if (api != NULL)
		api->begin(d->front, what, &m, step);
	message_free(request);
	leave(g);
	return step->action;
}

uint32_t library_next(struct library_front *d, uint64_t ticket, struct message *result, ksf_step *step)
{
	const ksf_message m = {result->fields, result->failed ? 0 : result->count};
	const ksf_api *api = library_opened(d);
	*step = (ksf_step){.action = KSF_PASS, .ticket = ticket}; /* where it is not asked: the ticket is still to be ended */
	struct guard g = enter();
	if (api != NULL)
		api->next(d->front, ticket, &m, step);
	message_free(result);
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

void library_tell(struct library_front *d, uint32_t what, struct message *event)
{
	const ksf_message m = {event->fields, event->count};
	const ksf_api *api = event->failed ? NULL : library_opened(d);
	struct guard g = enter();
	if (api != NULL)
		api->tell(d->front, what, &m);
	message_free(event);
	leave(g);
}

void library_passed(struct library_front *d, uint32_t what, const char *reason)
{
	struct message m = {0};
	if (library_open(d) == NULL)
		return;
	message_text(&m, KSF_PASSED, reason);
	library_tell(d, what, &m);
}
