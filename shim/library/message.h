/*
 * message.h: messages to and from libkernstash.so (capi/kernstash_front.h).
 */
#ifndef KERNSTASH_SHIM_MESSAGE_H
#define KERNSTASH_SHIM_MESSAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../../capi/kernstash_front.h"

/* A message that is being written; all 0 to begin with. */
struct message {
	ksf_field *fields;
	size_t count, room;
	void **owned;
	size_t nowned;
	bool failed; /* there was no memory: it is not sent */
};

void message_add(struct message *m, ksf_field field);
/* A string; NULL: there is none. */
void message_text(struct message *m, uint32_t tag, const char *text);
void message_number(struct message *m, uint32_t tag, uint32_t detail, uint64_t number);
/* What the driver did: KSF_ENDED and KSF_STATUS. */
void message_result(struct message *m, uint32_t result, int32_t code, uint64_t nanoseconds);
/* Memory of malloc's that is to be freed with the message; returns it. */
void *message_own(struct message *m, void *memory);
void message_free(struct message *m);

/* The field of a tag and a detail; NULL: there is none. */
const ksf_field *message_find(const ksf_message *m, uint32_t tag, uint32_t detail);

/* A copy in one piece of memory, for free; each piece of data has a NUL behind it. NULL: no
 * memory. */
ksf_message *message_copy(const ksf_message *m);

/* The time by a clock that nobody sets. */
uint64_t nanoseconds(void);

#endif
