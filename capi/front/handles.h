/*
 * handles.h: what the application's handles point to. Each counts its users and
 * holds a use of the one above it.
 */
#ifndef KS_HANDLES_H
#define KS_HANDLES_H

#include "calls.h"

struct kernstash_cache {
	_Atomic long uses;
	uintptr_t go;
};

struct kernstash_device {
	_Atomic long uses;
	kernstash_cache *cache;
	uintptr_t go; /* lives as long as the cache's */
	char directory[33];
};

void ks_cache_unuse(kernstash_cache *cache);
kernstash_device *ks_device_use(kernstash_device *device);

#endif
