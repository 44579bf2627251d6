/*
 * layer_calls.h: what the functions of kernstash_layer.h hand to Go, and take
 * from it. All of it lives on the caller's stack.
 */
#ifndef KSL_CALLS_H
#define KSL_CALLS_H

#include "kernstash_layer.h"

/* of begin, next, and of waiting for either. pending: there is no reply yet, and
 * ksl_go_wait is to be called, with ticket, until there is. */
struct ksl_ticket_call {
	const ksl_request *request;
	const ksl_outcome *outcomes;
	ksl_reply *reply;
	uint64_t ticket;
	int64_t thread; /* the host's, whichever one calls Go */
	uint32_t noutcomes;
	uint32_t pending;
};

struct ksl_launch_call {
	uint64_t program;
	const char *kernel;
	const size_t *offset, *global, *local;
	uint32_t dimensions;
};

struct ksl_answer_call {
	uint64_t program;
	void *to;
	size_t size;
	uint32_t device;
	uint32_t written; /* whether it was */
};

struct ksl_late_call {
	uint64_t nanoseconds, saved;
};

struct ksl_passed_call {
	const char *reason;
};

struct ksl_number_call {
	uint64_t number;
};

struct ksl_open_call {
	uint32_t open; /* the layer serves this process */
};

#endif
