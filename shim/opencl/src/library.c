/*
 * library.c: what the shim asks libkernstash.so.
 */
#include "shim.h"

#include <stdlib.h>
#include <string.h>

struct library_front library_layer = {.runtime = "opencl"};

bool library(void) { return library_open(&library_layer) != NULL; }

struct bytes bytes_of(const char *text) { return (struct bytes){text, text == NULL ? 0 : strlen(text)}; }

static void tell(struct message *m)
{
	library_tell(&library_layer, 0, m);
	message_free(m);
}

void library_launched(uint64_t program, const char *kernel, cl_uint dimensions, const size_t *offset, const size_t *global,
	const size_t *local)
{
	struct message m = {0};
	size_t sizes[3][3];
	message_add(&m, (ksf_field){.tag = KSF_LAUNCHED, .number = program, .data = kernel, .size = strlen(kernel)});
	for (cl_uint i = 0; i < dimensions; i++) {
		sizes[i][0] = offset == NULL ? 0 : offset[i];
		sizes[i][1] = global[i];
		sizes[i][2] = local == NULL ? 0 : local[i];
		message_add(&m, (ksf_field){.tag = KSF_SIZES, .data = sizes[i], .size = sizeof(sizes[i])});
	}
	tell(&m);
}

/* It is written here, and not by the library: a host's collector may guard its memory, and handle
 * the signal of a write, not in a thread of ours. */
bool library_answer(uint64_t program, cl_uint device, void *to, size_t size)
{
	struct message m = {0};
	ksf_step step = {.action = KSF_PASS};
	message_number(&m, KSF_UNIT, 0, program);
	message_number(&m, KSF_DEVICE, 0, device);
	library_begin(&library_layer, ASK_ANSWER, &m, &step);
	message_free(&m);
	const ksf_field *found = step.action == KSF_HIT ? message_find(&step.message, KSF_BINARY, 0) : NULL;
	bool there = found != NULL && found->size == size;
	if (there)
		memcpy(to, found->data, size);
	library_end(&library_layer, step.ticket);
	return there;
}

void library_released(uint64_t program)
{
	struct message m = {0};
	message_number(&m, KSF_RELEASED, 0, program);
	tell(&m);
}

void layer_passed(const char *reason) { library_passed(&library_layer, 0, reason); }

void library_is_to_look(void)
{
	struct message m = {0};
	if (stepped_aside())
		return;
	message_number(&m, KSF_COMPILES, 0, 0);
	tell(&m);
}

void library_compiled_late(uint64_t nanoseconds, uint64_t saved)
{
	struct message m = {0};
	message_number(&m, KSF_COMPILED_LATE, 0, nanoseconds);
	message_number(&m, KSF_SAVED, 0, saved);
	tell(&m);
}
