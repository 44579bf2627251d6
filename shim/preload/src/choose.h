/*
 * choose.h: between dlsym's entry, which is assembly, and what it asks.
 */
#ifndef KERNSTASH_PRELOAD_CHOOSE_H
#define KERNSTASH_PRELOAD_CHOOSE_H

#include "../preload.h"

typedef void *(*dlsym_fn)(void *handle, const char *name);

/* Set by preload_choose. */
extern dlsym_fn preload_real_dlsym;

struct choice {
	void *function;
	bool made; /* else the real dlsym is to be jumped to */
};

struct choice preload_choose(void *handle, const char *name, const void *caller);

#endif
