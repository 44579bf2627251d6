/*
 * enter.h: the one way from a host's thread into Go.
 */
#ifndef KS_ENTER_H
#define KS_ENTER_H

#include <stdbool.h>
#include <stdint.h>

/* Says whether Go can be entered: false in a child that was forked after the
 * library was loaded, where Go's threads are gone and a call would hang, and where
 * the limits left no room for Go. It costs two loads. */
bool ks_usable(void);

/* Calls go(arg), which may be a function that Go exports, so that neither
 * disturbs the other:
 *   - the host's signals wait meanwhile, since their handlers would run on a
 *     stack of Go's, which is small; so go must not wait for anything long
 *     (wait in C, see wait.h);
 *   - the thread is not cancelled meanwhile;
 *   - a thread with little stack left, or one on a stack of the host's own
 *     making, has go called on a thread of ours, and waits for it.
 * False: go was not called (ks_usable says no, or there is no memory for a thread). */
bool ks_enter(void (*go)(void *), void *arg);

/* Returns the lowest address that the process's first thread may use as its stack,
 * and the one past its highest; false on any other thread or stack, or where they can
 * not be told so. */
bool ks_first_stack(uintptr_t *low, uintptr_t *high);

/* Says that a write failed which may have sent a signal to the thread that is in Go: the
 * host is not to have it. */
void ks_write_failed(void);

/* Notes a thread of Go's runtime that begins (1) or ends (-1), and the main thread, if this
 * is it: see last_thread.c. */
void ks_go_thread(int more);
void ks_note_main(void);

#endif
