/*
 * preload.h: how a table of functions gets between an application and the libraries that it finds by itself.
 *
 * An application reaches a library's function in one of two ways, and both end here:
 *
 * - It is linked to it. Then the table's owner exports a function of the same name from this library, which the
 *   dynamic linker finds first, and asks preload_behind which function its caller would have had.
 * - It asks dlsym (or Python's ctypes, or Go's purego, does for it). dlsym is ours for the whole process: a name that
 *   is in no table is handed to the real one, by a jump that leaves no frame, so that RTLD_NEXT and RTLD_DEFAULT mean
 *   the caller's. For a name of a table the real one is asked first, with the caller's handle; the table says what
 *   the application gets in the place of what was found. What is not there stays so.
 *
 * Who opens a library with RTLD_DEEPBIND or dlmopen, is linked to it statically, or asks dlvsym, gets the library's
 * own functions and goes without the cache.
 *
 * A new table is one line in tables.c. Nothing here or in a table may allocate, take a lock that a forked child may
 * find taken, or look at the environment before one of its own names is asked for: dlsym is called by allocators
 * and sanitizers as they start.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct preload_table {
	const char *prefix;       /* of all names that are looked for here */
	const char *const *names; /* of the functions stood before, n of them; a NULL is none */
	size_t n;

	/* What the application gets for a name, by its index: a function of ours, or real itself. real is the
	 * library's; it is never a function that this library exports. NULL: it is not there, and dlerror says so. */
	void *(*take)(size_t name, void *real);

	/* Whether code at an address that calls dlsym is to get what there is; NULL: nobody is. */
	bool (*spares)(const void *caller);
};

/* tables.c: the tables, NULL at the end. */
extern const struct preload_table *const preload_tables[];

/* The real dlsym, from a frame of ours (RTLD_NEXT: behind this library); never what this library exports, but NULL. */
void *preload_find(void *handle, const char *name);

/* The function of a name that code at an address would have found without this library:
 * in what comes behind us, else in what its object is linked to, else, as who calls may
 * have the function from another object, in any. NULL: in none. */
void *preload_behind(const void *caller, const char *name);

/* Looks n names up in the object that a function is of; NULL: it has none such, or the name is NULL. Not kept open. */
void preload_beside(const void *function, const char *const *names, size_t n, void **found);
