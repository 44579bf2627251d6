/*
 * kernstash_stub.h: kernstash.h for an application or a library that compiles
 * kernstash_stub.c in, and is not linked with libkernstash. What it calls is the
 * same; where the library is not installed, or stays out of this process,
 * everything answers KERNSTASH_UNAVAILABLE, and kernstash_lookup_found 0.
 *
 * The stub's functions are hidden: several libraries of one process may each have
 * a stub of their own, beside applications that are linked with the library.
 */
#ifndef KERNSTASH_STUB_H
#define KERNSTASH_STUB_H

#if defined(__GNUC__)
#define KERNSTASH_API __attribute__((visibility("hidden")))
#else
#define KERNSTASH_API
#endif

#include "kernstash.h"

#endif
