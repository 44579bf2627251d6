/*
 * preload.c: the other way in, LD_PRELOAD, for applications whose loader knows no layers and those that use a
 * driver without one. Of the OpenCL libraries of a process the first that a program is made in is the one that is
 * served; the others get no more than what they are called with.
 *
 * Those who are linked find the functions of the API that are exported here first. Those who open a library
 * themselves and look its functions up are given a set of functions for that library, by shim/preload, to which
 * dlsym belongs.
 *
 * What is looked at here the dynamic linker knows, which takes a lock of its own: it is asked without ours.
 */
#include "shim.h"
#include "../layers.h"

#include <dlfcn.h>
#include <sched.h>

/* LINKED is the library of callers who are linked to one; the others are of callers who looked its functions up. */
enum { LINKED, LIBRARIES = 4 };

static struct behind {
	cl_icd_dispatch own;                     /* its functions */
	_Atomic(const cl_icd_dispatch *) called; /* NULL: not known yet; its own, or ours before them */
	atomic_int other;                        /* what it is: 0 not known yet, 1 a loader or a driver, 2 something else */
	unsigned long long removals;             /* of libraries from the process, when it was looked at */
} behind[LIBRARIES];

static cl_icd_dispatch ours;
static atomic_bool served; /* ours, and next, are complete */

/* The functions that the shim stands before, in their order, and two that it asks. */
static const struct member {
	const char *name;
	size_t at;
} members[] = {
#define MEMBER(name) {#name, offsetof(cl_icd_dispatch, name)},
	EACH_FUNCTION(MEMBER)
	MEMBER(clGetPlatformInfo)
	MEMBER(clGetDeviceInfo)
};
enum { MEMBERS = sizeof(members) / sizeof(*members), FUNCTIONS = MEMBERS - 2 };

static void **member(cl_icd_dispatch *d, size_t i) { return (void **)((char *)d + members[i].at); }

static void find_all(void *handle, cl_icd_dispatch *d)
{
	for (size_t i = 0; i < MEMBERS; i++) {
		void *found = dlsym(handle, members[i].name);
		*member(d, i) = found != NULL && is_ours(found) ? NULL : found;
	}
}

/* Calls of a library that is served already, found in another way, are served too. */
static void share(struct behind *b)
{
	const cl_icd_dispatch *own = &b->own;
	if (atomic_load(&served) && atomic_load(&b->called) != NULL && b->own.clBuildProgram == next.clBuildProgram)
		atomic_compare_exchange_strong(&b->called, &own, &ours);
}

/* Where the functions are that a linked caller means: in what follows us, which is what all are bound to; where
 * that has none, in what the caller's library is linked to (a module of an interpreter has a scope of its own);
 * else in the loader. Never in two: a function that one of them lacks is not there. */
static const cl_icd_dispatch *behind_linked(const void *caller)
{
	struct behind *b = &behind[LINKED];
	cl_icd_dispatch found = {0};
	void *object = NULL;
	if (dlsym(RTLD_NEXT, "clBuildProgram") != NULL) {
		find_all(RTLD_NEXT, &found);
	} else {
		object = object_of(caller, false); /* the program's own leads to us */
		if (object != NULL)
			find_all(object, &found);
		if (found.clBuildProgram == NULL) {
			void *loader = dlopen("libOpenCL.so.1", RTLD_NOW | RTLD_LOCAL);
			if (loader != NULL)
				find_all(loader, &found); /* it stays open */
		}
	}
	state_lock();
	if (atomic_load(&b->called) == NULL) {
		memcpy((void *)&b->own, (const void *)&found, sizeof(found));
		atomic_store(&b->called, &b->own);
	}
	state_unlock();
	share(b);
	if (object != NULL)
		dlclose(object);
	return atomic_load(&b->called);
}

/* Without these nothing can be told from anything else. */
static bool is_whole(const cl_icd_dispatch *d)
{
	return d->clBuildProgram != NULL && d->clGetProgramInfo != NULL && d->clGetProgramBuildInfo != NULL && d->clGetDeviceInfo != NULL;
}

/* Whether OPENCL_LAYERS names a layer that is not ours. */
static bool names_others(const char *layers)
{
	static const char ours[] = "/" LAYER_FILE;
	while (layers != NULL && *layers != 0) {
		size_t n = strcspn(layers, ":"), own = sizeof(ours) - 1;
		if (n > 0 && (n < own || strncmp(layers + n - own, ours, own) != 0))
			return true;
		layers += n + (layers[n] == ':');
	}
	return false;
}

/* Loaders make NUL bytes of the colons. */
static bool others_at_load;

__attribute__((constructor)) static void look(void) { others_at_load = names_others(getenv(LAYERS)); }

/* Whether nobody stands between us and the driver who may change what is built: an interposer, or a loader's layer. */
static bool is_last(struct behind *b)
{
	const cl_icd_dispatch *d = &b->own;
	const void *build = (const void *)(uintptr_t)d->clBuildProgram;
	if (atomic_load(&b->other) == 0) {
		/* A loader that knows layers makes us one before a program is made. */
		bool layer = inject_wanted() == INJECT_AUTO && knows_layers(build);
		bool last = !layer && nobody_between(d, build) && (is_driver_of(build) || is_loader(build)) &&
			!((others_at_load || names_others(getenv(LAYERS))) && knows_layers(build));
		atomic_store(&b->other, last ? 1 : 2);
		static atomic_flag said = ATOMIC_FLAG_INIT;
		if (!last && !layer && !atomic_flag_test_and_set(&said))
			report("out", "reason", "another layer stands between this one and the driver");
	}
	return atomic_load(&b->other) == 1;
}

static void serve(struct behind *b)
{
	static atomic_int decided; /* 1: a thread is at it, 2: it is */
	int no = 0;
	enum inject wanted = inject_wanted();
	if (wanted == INJECT_NONE || (wanted == INJECT_LAYER && b == &behind[LINKED]) || !is_whole(&b->own) || !is_last(b))
		return;
	if (!atomic_compare_exchange_strong(&decided, &no, 1)) {
		/* Threads that begin at once are all served. Not for ever: a forked child may lack the one that was at it. */
		for (int i = 0; i < 10000 && atomic_load(&decided) == 1; i++)
			sched_yield();
		return;
	}
	/* Nothing here takes the dynamic linker's lock, which one of those may hold. */
	bool claimed = inject_claim(INJECT_PRELOAD);
	const char *unwanted = claimed ? library_unwanted() : NULL;
	if (claimed && unwanted == NULL) {
		memcpy((void *)&next, (const void *)&b->own, sizeof(next));
		state_guard_fork();
		dispatch_fill(&ours, &next);
		atomic_store(&served, true);
		for (unsigned i = 0; i < LIBRARIES; i++)
			share(&behind[i]);
	}
	atomic_store(&decided, 2);
	if (unwanted != NULL)
		report("out", "reason", unwanted);
	if (!claimed || unwanted != NULL)
		return;
	/* It stays in the process, whoever closes it: what we call is there, and who opens it again finds it as it was. */
	object_of((const void *)(uintptr_t)b->own.clBuildProgram, false);
	report("loaded", "front_end", "opencl-preload");
}

/* What is to be called for a library: its own functions, or ours. caller is who calls. */
static inline const cl_icd_dispatch *behind_of(unsigned library, const void *caller)
{
	const cl_icd_dispatch *d = atomic_load_explicit(&behind[library].called, memory_order_acquire);
	return d != NULL ? d : behind_linked(caller);
}

/* The same where a program is about to be made. */
static const cl_icd_dispatch *behind_making(unsigned library, const void *caller)
{
	struct behind *b = &behind[library];
	if (behind_of(library, caller) == &b->own && !atomic_load(&served))
		serve(b);
	return atomic_load(&b->called);
}

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

/* The functions that stand before each library's, numbered as EACH_FUNCTION has them. */
static void *const *const stand_ins[] = {row_0, row_1, row_2, row_3};
_Static_assert(sizeof(stand_ins) / sizeof(*stand_ins) == LIBRARIES, "a set of functions for each");

/* Other names of the first set: what we mean ourselves is ours, whoever exports more. */
#define EXPORTED(name) extern __typeof__(name##_0) name __attribute__((alias(#name "_0"), visibility("default")));
EACH_FUNCTION(EXPORTED)
_Static_assert(LINKED == 0, "the exported functions are of who is linked");

/* The library that a function is of; NULL: it is not to be stood before. */
static struct behind *library_of(size_t function, void *real)
{
	unsigned long long now = removals();
	struct behind *b = NULL;
	state_lock();
	for (unsigned i = LINKED + 1; i < LIBRARIES && b == NULL; i++) {
		struct behind *it = &behind[i];
		const cl_icd_dispatch *called = atomic_load(&it->called);
		if (called != NULL && *member(&it->own, function) == real && (called == &ours || it->removals == now))
			b = it;
	}
	state_unlock();
	if (b != NULL)
		return b;
	/* Of one program all calls are ours, or none. */
	enum inject wanted = inject_wanted();
	if ((wanted == INJECT_LAYER || wanted == INJECT_AUTO) && (knows_layers(real) || (wanted == INJECT_LAYER && somebody_is_linked(real))))
		return NULL;
	void *object = object_of(real, false);
	if (object == NULL)
		return NULL;
	cl_icd_dispatch found = {0};
	find_all(object, &found);
	dlclose(object);
	/* Not if the object is another one of the same name, in another namespace. */
	if (*member(&found, function) != real || !is_whole(&found))
		return NULL;
	state_lock();
	for (unsigned i = LINKED + 1; i < LIBRARIES && b == NULL; i++) {
		const cl_icd_dispatch *called = atomic_load(&behind[i].called);
		if (called == NULL || behind[i].own.clBuildProgram == found.clBuildProgram)
			b = &behind[i];
	}
	if (b != NULL && atomic_load(&b->called) != &ours) {
		/* Another thread may have been faster, and may read it by now. */
		if (atomic_load(&b->called) == NULL || memcmp((const void *)&b->own, (const void *)&found, sizeof(found)) != 0) {
			memcpy((void *)&b->own, (const void *)&found, sizeof(found));
			atomic_store(&b->called, &b->own);
		}
		/* Another library may be at the place of one that is gone. */
		if (b->removals != now)
			atomic_store(&b->other, 0);
		b->removals = now;
	}
	state_unlock();
	if (b != NULL)
		share(b);
	return b;
}

/* Drivers may just have been loaded. */
EXPORT void kernstash_layer_looks(void) { library_look(); }

/* What an application gets that has looked a function up by its name (shim/preload); real is what there is, in
 * this library too where that is preloaded. NULL: it is not there, and dlerror says so. */
EXPORT void *kernstash_layer_take(const char *name, void *real)
{
	size_t i = 0;
	while (i < FUNCTIONS && strcmp(members[i].name, name) != 0)
		i++;
	if (i == FUNCTIONS || inject_wanted() == INJECT_NONE)
		return real;
	library_look(); /* real may be of a driver that was just loaded */
	void *exported = stand_ins[LINKED][i], *linked = dlsym(RTLD_NEXT, name);
	if (real == exported)
		return linked == NULL ? NULL : real; /* without us there would be none */
	/* A linked program's function has one address. */
	if (real == linked && inject_wanted() != INJECT_LAYER)
		return exported;
	const struct behind *b = library_of(i, real);
	return b == NULL ? real : stand_ins[b - behind][i];
}
