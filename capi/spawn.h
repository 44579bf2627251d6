/*
 * spawn.h: starting a program that the host process does not notice.
 */
#ifndef KS_SPAWN_H
#define KS_SPAWN_H

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
