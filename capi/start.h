/*
 * start.h: what Go calls of C: of libkernstash.so.1, which has said where it is by then, and of its own.
 */
#ifndef KS_START_H
#define KS_START_H

#include "internal.h"

/* What libkernstash.so.1 does; pointers to functions, which Go cannot call itself. */
extern const struct ks_front *ks_front;

static inline void ks_post(ks_ticket *t, uint32_t action)
{
	ks_front->post(t, action);
}

static inline void ks_wake(uint32_t event)
{
	ks_front->wake(event);
}

static inline ks_blob *ks_blob_new(const kernstash_artifact *a)
{
	return ks_front->blob_new(a);
}

static inline void ks_blob_unuse(ks_blob *b)
{
	ks_front->blob_unuse(b);
}

/* How many threads of this library's there are: each counts itself. */
int ks_threads(void);

/* See struct ks_go: Go adds to it. */
extern _Atomic int32_t ks_unwritten;

/* Gives the pages of this library's code back, which most of the time nobody needs. */
void ks_let_pages_go(void);

/* Starts the program at path (no search) with the arguments and the environment
 * given, both ended by NULL, in a session of its own, in "/", with /dev/null for
 * its standard streams and no other descriptor, with no signal blocked, ignored or
 * handled. It is nobody's child: no wait call of the host returns it, and no
 * signal tells of its end.
 *
 * The calling thread waits until the program is loaded, about a millisecond; the
 * others go on. No handlers of pthread_atfork run. Returns 0, or an errno. */
int ks_spawn_detached(const char *path, char *const argv[], char *const envp[]);

#endif
