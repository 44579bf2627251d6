/*
 * library.h: how every shim gets at libkernstash.so: it is opened at the first
 * build and never before, and stays out of processes that it would harm.
 *
 * A shim has one front end, with the name of what it serves in capi's registry:
 *
 *	static struct library_front front_end = {.runtime = "rtc"};
 *	uint32_t action = library_begin(&front_end, what, &request, &step);
 */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../../capi/kernstash_front.h"

#define EXPORT __attribute__((visibility("default")))

/* Of what is called before a sanitizer is there, or reads the gaps that one leaves between constants. */
#ifdef __clang__
#define BARE __attribute__((no_sanitize("address", "thread", "undefined")))
#else
#define BARE __attribute__((no_sanitize_address, no_sanitize_thread, no_sanitize_undefined))
#endif

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

/* A copy in one piece of memory, for free; each piece of data has a NUL behind it. NULL: no memory. */
ksf_message *message_copy(const ksf_message *m);

/* The time by a clock that nobody sets. */
uint64_t nanoseconds(void);

struct library_front {
	const char *runtime;
	const ksf_api *_Atomic functions; /* set before state says that it is open */
	_Atomic uint32_t front;
	atomic_int state;
};

/* The library's functions, from all threads; opened at the first call. NULL: it stays out, and has reported why. */
const ksf_api *library_open(struct library_front *d);
/* The same if it is open; opens nothing. */
const ksf_api *library_opened(struct library_front *d);

/* What is asked of the library, which frees the message. Where it cannot be asked the step is KSF_PASS. begin and
 * passed open it. A step's ticket is 0 where it has ended. */
uint32_t library_begin(struct library_front *d, uint32_t what, struct message *request, ksf_step *step);
uint32_t library_next(struct library_front *d, uint64_t ticket, struct message *result, ksf_step *step);
void library_end(struct library_front *d, uint64_t ticket);
void library_tell(struct library_front *d, uint32_t what, struct message *event);
void library_passed(struct library_front *d, uint32_t what, const char *reason); /* KSF_PASSED */

/* From the one to the other the thread is not cancelled: what others wait for is not to
 * be left half done. It takes what the first returned. They may be nested. */
int library_uncancelled(void);
void library_cancelled(int before);

/* To be called before and after a compiler that may recover from its own crashes. From all threads; calls overlap. */
void library_compiles(bool begins);

/* Why what a compiler makes in this thread now is not to be kept, nor anything served in its place: compilers fold
 * constants by the processor's arithmetic, whose mode is not the one that a thread starts with. NULL: it is. */
const char *library_arithmetic(void);

/* From the one to the other the thread's arithmetic is in that mode: what was served is compiled after all. */
struct arithmetic {
	uint16_t x87; /* what the processor has of them */
	uint32_t sse;
	uint64_t fpcr;
};
void library_default_arithmetic(struct arithmetic *before);
void library_arithmetic_back(const struct arithmetic *before);

/* Looks whether one of the files that Intel's driver reads when it is loaded is in the directory that the process
 * works in now (KSF_SETTINGS), and whether that is another one than the first (KSF_MOVED), and returns what was
 * found at any look: the first is made when the shim is loaded. errno stays what it was. From all threads. */
uint32_t library_look(void);

/* Why a shim is to do nothing at all in this process; NULL: it is wanted. */
const char *library_unwanted(void);

/* Whether two addresses are of one object of the process. */
bool same_object(const void *a, const void *b);
/* Whether a function is of this library. */
bool is_ours(const void *function);
/* A handle of the object that an address is in, to be closed; NULL: none, or it is the program and not program_too. */
void *object_of(const void *address, bool program_too);

/* Appends one line to the file that KERNSTASH_REPORT names. */
void report(const char *event, const char *name, const char *value);
