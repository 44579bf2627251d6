/*
 * lookup.h: a lookup, which one thread uses at a time.
 */
#ifndef KS_LOOKUP_H
#define KS_LOOKUP_H

#include "buffer.h"
#include "handles.h"

struct kernstash_lookup {
	kernstash_device *device;
	ks_buffer program, context, material, variants, options;
	bool sourced, versioned, fixed;
	bool incomplete; /* a part of the key was refused */
	uintptr_t key; /* what Go made of all that; 0: nothing yet */

	ks_blob **blobs; /* all that it ever had: pointers to them went out */
	size_t blob_count, blob_room;
	ks_blob *blob; /* the one of now, or NULL */
	uint32_t origin;
	int64_t missed_at; /* nanoseconds of the clock; 0: it was not */

	ks_ticket ticket;
	bool building;       /* in the callback */
	bool failed;         /* the last get_or_build */
	bool fail_said;      /* by the callback */
	int fail_code;
	char *fail_log; /* malloc's */
};

/* The request of Go, which is read during a call. It fixes the key. */
ks_request ks_lookup_request(kernstash_lookup *l);

/* Says whether there is a key to look for: a status, and what is wrong. */
int ks_lookup_has_key(const kernstash_lookup *l);

/* Makes a blob the lookup's, and takes the caller's use of it over. False: no
 * memory; the use is still the caller's. */
bool ks_lookup_take(kernstash_lookup *l, ks_blob *b, uint32_t origin);

/* Forgets what the last get_or_build failed with. */
void ks_lookup_clear_failure(kernstash_lookup *l);

int64_t ks_now(void);

#endif
