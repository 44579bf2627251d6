/*
 * library.c: what the shim asks libkernstash.so, each on a stack that is large
 * enough for it.
 */
#include "shim.h"

#include <stdlib.h>
#include <string.h>

static struct library_door door = {.symbol = "kernstash_layer_api", .abi = KSL_ABI, .size = sizeof(ksl_api), .meanwhile = compiler_open};

const ksl_api *library(void) { return (const void *)library_open(&door); }

const ksl_api *library_if_open(void) { return (const void *)library_opened(&door); }

struct call {
	const ksl_api *api;
	enum { BEGIN, NEXT, END, LAUNCHED, ANSWER, RELEASED, PASSED, COMPILES, COMPILED_LATE } what;
	const ksl_request *request;
	ksl_reply *reply;
	uint64_t number; /* ticket or program */
	uint32_t n;
	const ksl_outcome *outcomes;
	const char *text;
	const size_t *offset, *global, *local;
	void *to;
	size_t size;
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
		c->result = c->api->next(c->number, c->n, c->outcomes, c->reply);
		break;
	case END:
		c->api->end(c->number);
		break;
	case LAUNCHED:
		c->api->launched(c->number, c->text, c->n, c->offset, c->global, c->local);
		break;
	case ANSWER:
		c->result = c->api->answer(c->number, c->n, c->to, c->size);
		break;
	case RELEASED:
		c->api->released(c->number);
		break;
	case PASSED:
		c->api->passed(c->text);
		break;
	case COMPILES:
		c->api->compiles();
		break;
	case COMPILED_LATE:
		c->api->compiled_late(c->number, c->size);
		break;
	}
}

/* Where it is not called the result is PASS. */
static void call(struct call *c) { library_call(make, c); }

uint32_t layer_begin(const ksl_api *a, const ksl_request *request, ksl_reply *reply)
{
	struct call c = {.api = a, .what = BEGIN, .request = request, .reply = reply, .result = KSL_PASS};
	call(&c);
	return c.result;
}

uint32_t layer_next(const ksl_api *a, uint64_t ticket, uint32_t n, const ksl_outcome *outcomes, ksl_reply *reply)
{
	struct call c = {.api = a, .what = NEXT, .number = ticket, .n = n, .outcomes = outcomes, .reply = reply, .result = KSL_PASS};
	call(&c);
	return c.result;
}

void layer_end(const ksl_api *a, uint64_t ticket)
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

/* The library writes to memory of ours. A host's collector may guard its own, and handle
 * the signal of a write: not one that a Go runtime is at, and not in a thread of ours. */
bool library_answer(uint64_t program, cl_uint device, void *to, size_t size)
{
	struct call c = {.api = library_if_open(), .what = ANSWER, .number = program, .n = device, .size = size};
	if (c.api == NULL || (c.to = malloc(size)) == NULL)
		return false;
	call(&c);
	if (c.result != 0)
		memcpy(to, c.to, size);
	free(c.to);
	return c.result != 0;
}

void library_released(uint64_t program)
{
	struct call c = {.api = library_if_open(), .what = RELEASED, .number = program};
	if (c.api != NULL)
		call(&c);
}

void layer_passed(const char *reason)
{
	struct call c = {.api = library(), .what = PASSED, .text = reason};
	if (c.api != NULL)
		call(&c);
}

void library_is_to_look(void)
{
	/* Who builds what is ours to know has opened it. */
	struct call c = {.api = stepped_aside() ? NULL : library_if_open(), .what = COMPILES};
	if (c.api != NULL)
		call(&c);
}

void library_compiled_late(uint64_t nanoseconds, uint64_t saved)
{
	struct call c = {.api = library_if_open(), .what = COMPILED_LATE, .number = nanoseconds, .size = saved};
	if (c.api != NULL)
		call(&c);
}
