/*
 * enter.h: the one way from a host's thread into Go.
 */
#ifndef KS_ENTER_H
#define KS_ENTER_H

#include "entries.h"

/* Has Go do an entry with its argument, so that neither disturbs the other:
 *   - the host's signals wait meanwhile, since their handlers would run on a
 *     stack of Go's, which is small; so an entry must not wait for anything long
 *     (wait in C, see wait.c);
 *   - the thread is not cancelled meanwhile;
 *   - a thread with little stack left, or one on a stack of the host's own
 *     making, has it done on a thread of ours, and waits for it.
 * The first call loads Go. False: nothing was done, since Go cannot be used (load.h), or there is no
 * memory for a thread. */
bool ks_enter(enum ks_entry entry, void *argument);

/* Loads Go, and returns an address within its library; NULL where it cannot be used. For the shims
 * of the same release. */
const void *kernstash_runtime(void);

/* Notes the main thread, if this is it: see last_thread.c. */
void ks_note_main(void);

/* Has the process end with its last thread, if the main one has ended and Go is loaded. */
void ks_watch_threads(void);

#endif
