//go:build linux && cgo

#define _GNU_SOURCE
#include <signal.h>

/* Go takes SIGURG to stop its own goroutines with, and hands no other's on. A host
 * may need each of its own: one that is written in Go would have a thread that can not
 * be stopped any more, from the one signal that is lost while our library comes into
 * its process. So Go does not get it here: it stops its goroutines where they call
 * something (asyncpreemptoff, see build), and never sends it. */

int __real_sigaction(int sig, const struct sigaction *act, struct sigaction *old);

/* What Go calls in its stead (-Wl,--wrap). */
int __wrap_sigaction(int sig, const struct sigaction *act, struct sigaction *old)
{
	return __real_sigaction(sig, sig == SIGURG ? NULL : act, old);
}
