/* choose.c: what dlsym answers. */
#include "../../library/library.h"
#include "../preload.h"

#include <dlfcn.h>

typedef void *(*dlsym_fn)(void *handle, const char *name);

struct choice {
	void *function;
	bool made; /* else the real dlsym is to be jumped to */
};

/* strcmp, which sanitizers stand before. */
BARE static bool same(const char *a, const char *b)
{
	for (; *a != 0 && *a == *b; a++, b++)
		;
	return *a == *b;
}

__attribute__((visibility("hidden"))) dlsym_fn preload_real_dlsym; /* set by preload_choose, for entry.c */

/* The real one is looked up by version, which does not lead to ours: that has none. The
 * versions are those of glibc's architectures, and of glibc 2.34, which took libdl in. */
BARE static dlsym_fn real(void)
{
	static const char *const versions[] = {"GLIBC_2.34", "GLIBC_2.2.5", "GLIBC_2.17", "GLIBC_2.27", "GLIBC_2.36", "GLIBC_2.0"};
	dlsym_fn found = __atomic_load_n(&preload_real_dlsym, __ATOMIC_ACQUIRE);
	for (size_t i = 0; found == NULL && i < sizeof versions / sizeof *versions; i++)
		*(void **)&found = dlvsym(RTLD_NEXT, "dlsym", versions[i]);
	__atomic_store_n(&preload_real_dlsym, found, __ATOMIC_RELEASE);
	return found;
}

void *preload_find(void *handle, const char *name)
{
	dlsym_fn look = real();
	void *found = look == NULL ? NULL : look(handle, name);
	if (found != NULL && is_ours(found))
		found = handle == RTLD_NEXT ? NULL : look(RTLD_NEXT, name);
	return found != NULL && is_ours(found) ? NULL : found;
}

/* The name's table; NULL: it is in none. Most names are told by their first letters. */
BARE static const struct preload_table *table_of(const char *name, size_t *index)
{
	for (const struct preload_table *const *t = preload_tables; *t != NULL; t++)
		for (size_t i = 0; i < (*t)->n; i++)
			if ((*t)->names[i] != NULL && same((*t)->names[i], name)) {
				*index = i;
				return *t;
			}
	return NULL;
}

BARE struct choice preload_choose(void *handle, const char *name, const void *caller)
{
	struct choice jump = {NULL, false}, none = {NULL, true};
	size_t index;
	const struct preload_table *t;

	if (real() == NULL)
		return none;
	/* RTLD_NEXT is what another one asks who stands in between: what is behind him. If he is
	 * behind us, ours would lead back to him. */
	if (name == NULL || handle == RTLD_NEXT || (t = table_of(name, &index)) == NULL)
		return jump;
	void *found = preload_real_dlsym(handle, name);
	if (found == NULL)
		return jump; /* for the caller's own dlerror */
	if (is_ours(found)) {
		/* The global scope: what would be there without us. */
		found = preload_find(RTLD_NEXT, name);
		if (found == NULL)
			return none; /* dlerror says so */
	}
	if (t->spares == NULL || !t->spares(caller))
		found = t->take(index, found);
	if (found != NULL)
		dlerror(); /* what was looked for in vain meanwhile is not the caller's business */
	return (struct choice){found, true};
}
