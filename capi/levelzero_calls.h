/*
 * levelzero_calls.h: what the functions of kernstash_levelzero.h hand to Go, and take
 * from it. All of it lives on the caller's stack.
 */
#ifndef KSZ_CALLS_H
#define KSZ_CALLS_H

#include "kernstash_levelzero.h"

/* of begin, next, and of waiting for either. pending: there is no reply yet, and
 * ksz_go_wait is to be called, with ticket, until there is. */
struct ksz_ticket_call {
	const ksz_request *request;
	const ksz_outcome *outcome;
	ksz_reply *reply;
	uint64_t ticket;
	uint32_t pending;
};

struct ksz_number_call {
	uint64_t number;
};

struct ksz_passed_call {
	const char *reason;
};

struct ksz_open_call {
	uint32_t open; /* the library serves this process */
};

#endif
