/*
 * calls.h: how a function of kernstash.h asks Go, and what it asks with.
 */
#ifndef KS_CALLS_H
#define KS_CALLS_H

#include "enter.h"

/* Makes a text this thread's detail, and returns status. */
int ks_fail(int status, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Has Go do an entry, and makes an error of it the thread's. UNAVAILABLE where Go cannot be
 * used. */
int ks_ask(enum ks_entry entry, ks_call *call);

/* Copies what an artifact points to; one use. NULL: no memory. */
ks_blob *ks_blob_new(const kernstash_artifact *a);
ks_blob *ks_blob_use(ks_blob *b);
void ks_blob_unuse(ks_blob *b); /* NULL: nothing */

/* Called by Go when it has something for the thread. The ticket may be gone when it
 * returns. */
void ks_post(ks_ticket *t, uint32_t action);

/* Called by Go when it has something for threads that wait at an event. */
void ks_wake(uint32_t event);

/* Waits until an event is woken, or a signal came. seen is what ks_event_now returned before Go was
 * asked whether it has something. */
void ks_event_wait(uint32_t event, uint32_t seen);
uint32_t ks_event_now(uint32_t event);

/* Waits for the next action. */
uint32_t ks_await(ks_ticket *t);

/* Says whether this thread is in a build callback. */
bool ks_in_build(void);

void ks_cache_unuse(kernstash_cache *cache);

#endif
