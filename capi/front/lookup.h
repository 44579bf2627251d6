/*
 * lookup.h: a lookup, which one thread uses at a time.
 */
#ifndef KS_LOOKUP_H
#define KS_LOOKUP_H

#include "calls.h"

/* Has Go do an entry for a lookup, whose key is fixed from then on. */
int ks_lookup_ask(kernstash_lookup *l, enum ks_entry entry, ks_lookup_call *c);

/* Says whether there is a key to look for: a status, and what is wrong. */
int ks_lookup_has_key(const kernstash_lookup *l);

/* Makes a blob the lookup's, and takes the caller's use of it over. False: no
 * memory; the use is still the caller's. */
bool ks_lookup_take(kernstash_lookup *l, ks_blob *b, uint32_t origin);

/* Forgets what the last get_or_build failed with. */
void ks_lookup_clear_failure(kernstash_lookup *l);

int64_t ks_now(void);

#endif
