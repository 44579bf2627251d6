/* counting.c: a library that stands before the real nvJitLink (REAL) and says at the end how often it was asked to compile. */
#include <dlfcn.h>
#include <stdio.h>

typedef int (*any_fn)(void *, void *, void *, void *, void *);

static _Atomic int added, completed;

static any_fn real(const char *name)
{
	static void *library;
	any_fn f;
	if (library == NULL)
		library = dlmopen(LM_ID_BASE, REAL, RTLD_NOW | RTLD_LOCAL);
	*(void **)&f = dlvsym(library, name, "libnvJitLink.so.12"); /* the interposer is not to see this */
	return f;
}

#define FUNCTION(name, counts) \
	int name(void *a, void *b, void *c, void *d, void *e) { return counts, real(#name)(a, b, c, d, e); }
#define ALL(p, v) \
	FUNCTION(p##Create##v, 0) FUNCTION(p##Destroy##v, 0) FUNCTION(p##AddData##v, added++) FUNCTION(p##AddFile##v, added++) \
	FUNCTION(p##Complete##v, completed++) FUNCTION(p##GetInfoLog##v, 0) FUNCTION(p##GetInfoLogSize##v, 0) \
	FUNCTION(p##GetErrorLog##v, 0) FUNCTION(p##GetErrorLogSize##v, 0) FUNCTION(p##GetLinkedCubin##v, 0) \
	FUNCTION(p##GetLinkedCubinSize##v, 0) FUNCTION(p##GetLinkedPtx##v, 0) FUNCTION(p##GetLinkedPtxSize##v, 0)

ALL(nvJitLink, )
ALL(__nvJitLink, _12_0)
ALL(__nvJitLink, _12_4)
FUNCTION(nvJitLinkVersion, 0)

__attribute__((destructor)) static void say(void) { fprintf(stderr, "added %d, completed %d\n", added, completed); }
