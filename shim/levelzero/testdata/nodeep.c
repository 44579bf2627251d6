/*
 * nodeep.c: preloaded first. The driver opens libraries with RTLD_DEEPBIND, with which the
 * sanitizer's runtime ends the process.
 */
#include <dlfcn.h>
#include <stddef.h>

void *dlopen(const char *name, int flags)
{
	static void *(*next)(const char *, int);
	if (next == NULL)
		*(void **)&next = dlsym(RTLD_NEXT, "dlopen");
	return next(name, flags & ~RTLD_DEEPBIND);
}
