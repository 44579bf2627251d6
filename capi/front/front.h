/* front.h: what the files of libkernstash.so.1 do for each other. */
#pragma once

#define _GNU_SOURCE
#include <stdlib.h>
#include <string.h>

#include "internal.h"

/* ---- The library in Go, loaded when something is asked of it (load.c) ---- */

/* Says whether Go can be used, or nobody has tried yet: false where the limits leave no room for it, and in a child
 * that was forked when it was loaded. It costs three loads. */
bool ks_usable(void);

/* Returns Go's functions, and loads it where nobody has asked before; NULL where Go cannot be used. Call it through
 * ks_enter, which has a stack for it and holds the host's signals back: what the thread holds back Go's threads do. */
const struct ks_go *ks_load(void);

/* Returns Go's functions where Go is loaded, else NULL. */
const struct ks_go *ks_loaded(void);

/* Says why Go cannot be used, after ks_load returned NULL. */
const char *ks_why_not_loaded(void);

/* ---- The one way from a host's thread into Go (enter.c) ---------------- */

/* Has Go do an entry with its argument, so that neither disturbs the other:
 *   - the host's signals wait meanwhile, since their handlers would run on a stack of Go's, which is small; so an
 *     entry must not wait for anything long (wait in C, see wait.c);
 *   - the thread is not cancelled meanwhile;
 *   - a thread with little stack left, or one on a stack of the host's own making, has it done on a thread of ours,
 *     and waits for it.
 * The first call loads Go. False: nothing was done, since Go cannot be used, or there is no memory for a thread. */
bool ks_enter(enum ks_entry entry, void *argument);

/* Loads Go, and returns an address within its library; NULL where it cannot be used. For the shims of this release. */
const void *kernstash_runtime(void);

/* Notes the main thread, if this is it: see last_thread.c. */
void ks_note_main(void);

/* Returns how many threads the process has, the main one included though it has ended; 0: nobody knows. */
int ks_count_threads(void);

/* Has the process end with its last thread, if the main one has ended and Go is loaded. */
void ks_watch_threads(void);

/* ---- How a function of kernstash.h asks Go (error.c) ------------------- */

/* Makes a text this thread's detail, and returns status. */
int ks_fail(int status, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Has Go do an entry, and makes an error of it the thread's. UNAVAILABLE where Go cannot be used. */
int ks_ask(enum ks_entry entry, ks_call *call);

/* Makes what Go has said of a call the thread's, and returns its status. */
int ks_said(const ks_call *call);

/* ---- Waiting for Go (wait.c) ------------------------------------------- */

/* Called by Go when it has something for the thread. The ticket may be gone when it returns. */
void ks_post(ks_ticket *t, uint32_t action);

/* Waits for the next action. */
uint32_t ks_await(ks_ticket *t);

/* Called by Go when it has something for threads that wait at an event. */
void ks_wake(uint32_t event);

/* Waits until an event is woken, or a signal came. seen is what ks_event_now returned before Go was asked. */
void ks_event_wait(uint32_t event, uint32_t seen);
uint32_t ks_event_now(uint32_t event);

/* Returns the word that threads wait at which have that number, once ks_usable was true; 0 in forked children. */
_Atomic uint32_t *ks_event(uint32_t number);

/* ---- Binaries, caches, lookups ----------------------------------------- */

/* Copies what an artifact points to; one use. NULL: no memory. */
ks_blob *ks_blob_new(const kernstash_artifact *a);
void ks_blob_unuse(ks_blob *b); /* NULL: nothing */

void ks_cache_unuse(kernstash_cache *cache);

bool ks_in_build(void); /* Says whether this thread is in a build callback. */

/* Has Go do an entry for a lookup, whose key is fixed from then on. */
int ks_lookup_ask(kernstash_lookup *l, enum ks_entry entry, ks_lookup_call *c);

/* Says whether there is a key to look for: a status, and what is wrong. */
int ks_lookup_has_key(const kernstash_lookup *l);

/* Makes a blob the lookup's, and takes the caller's use of it over. False: no memory; the use is still the caller's. */
bool ks_lookup_take(kernstash_lookup *l, ks_blob *b, uint32_t origin);

/* Forgets what the last get_or_build failed with. */
void ks_lookup_clear_failure(kernstash_lookup *l);

int64_t ks_now(void);
