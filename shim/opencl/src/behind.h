/*
 * behind.h: the OpenCL libraries of a process in which we are preloaded: loaders that
 * know no layers, and drivers without one. The first that a program is made in is the
 * one that is served; the others get no more than what they are called with.
 */
#pragma once

#include "shim.h"

/* LINKED is the library of callers who are linked to one. Each of the others is of
 * callers who looked its functions up. */
enum { LINKED, LIBRARIES = 4 };

struct behind {
	cl_icd_dispatch own;                     /* its functions */
	_Atomic(const cl_icd_dispatch *) called; /* NULL: not known yet; its own, or ours before them */
	atomic_int other;                        /* what it is: 0 not known yet, 1 a loader or a driver, 2 something else */
	unsigned long long removals;             /* of libraries from the process, when it was looked at */
};

extern struct behind behind[LIBRARIES];

/* What is to be called for a library: its own functions, or ours. caller is who calls. */
const cl_icd_dispatch *behind_linked(const void *caller);
/* The same where a program is about to be made. */
const cl_icd_dispatch *behind_making(unsigned library, const void *caller);

static inline const cl_icd_dispatch *behind_of(unsigned library, const void *caller)
{
	const cl_icd_dispatch *d = atomic_load_explicit(&behind[library].called, memory_order_acquire);
	return d != NULL ? d : behind_linked(caller);
}

/* preload.c: the function that stands before a library's; functions are numbered as EACH_FUNCTION has them. */
void *stand_in(unsigned library, size_t function);

/* layers.c */

/* Whether the library that a function is of looks at OPENCL_LAYERS; also where it cannot be told. */
bool knows_layers(const void *function);
/* Whether the library that a function is of is a loader of drivers; also where it cannot be told. */
bool is_loader(const void *function);
/* Whether an object of the process is linked to it: its calls reach us only where we are preloaded ourselves. */
bool somebody_is_linked(const void *function);
/* How many libraries have left the process. */
unsigned long long removals(void);
