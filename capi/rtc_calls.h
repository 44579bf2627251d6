/*
 * rtc_calls.h: what the functions of kernstash_rtc.h hand to Go, and take from it. All of
 * it lives on the caller's stack.
 */
#ifndef KSR_CALLS_H
#define KSR_CALLS_H

#include "kernstash_rtc.h"

/* of begin, and of waiting for it. pending: there is no reply yet, and ksr_go_wait is to
 * be called, with ticket, until there is. */
struct ksr_begin_call {
	const ksr_request *request;
	ksr_reply *reply;
	uint64_t ticket;
	uint32_t pending;
};

struct ksr_done_call {
	uint64_t ticket;
	const ksr_outcome *outcome; /* NULL: end */
};

struct ksr_passed_call {
	const char *reason;
	uint32_t api;
};

struct ksr_open_call {
	uint32_t open; /* the library serves this process */
};

#endif
