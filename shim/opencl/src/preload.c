/*
 * preload.c: the other way in, LD_PRELOAD, for applications whose loader knows no layers
 * and those that use a driver without one.
 *
 * Those who are linked find the functions of the API that are exported here first.
 * Those who open a library themselves and look its functions up are given a set of
 * functions for that library, by shim/preload, to which dlsym belongs.
 */
#include "behind.h"

#define GLUE(a, b) a##b
#define OF(name, library) GLUE(name##_, library)
#define NAME(name) OF(name, LIBRARY)
#define ROW(library) GLUE(row_, library)

#define LIBRARY 0
#include "stand_in.h"
#define LIBRARY 1
#include "stand_in.h"
#define LIBRARY 2
#include "stand_in.h"
#define LIBRARY 3
#include "stand_in.h"

static void *const *const rows[] = {row_0, row_1, row_2, row_3};
_Static_assert(sizeof(rows) / sizeof(*rows) == LIBRARIES, "a set of functions for each");

void *stand_in(unsigned library, size_t function) { return rows[library][function]; }

/* Other names of the first set: what we mean ourselves is ours, whoever exports more. */
#define EXPORTED(name) extern __typeof__(name##_0) name __attribute__((alias(#name "_0"), visibility("default")));
EACH_FUNCTION(EXPORTED)
_Static_assert(LINKED == 0, "the exported functions are of who is linked");
