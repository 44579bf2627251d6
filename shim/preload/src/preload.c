/* preload.c: what dlsym answers, and which function a caller would have had. */
#include "../../library/library.h"
#include "../preload.h"

#include <dlfcn.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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

BARE static bool begins(const char *name, const char *prefix)
{
	for (; *prefix != 0 && *prefix == *name; prefix++, name++)
		;
	return *prefix == 0;
}

/* The name's table; NULL: it is in none. Most names are told by their first letters. */
BARE static const struct preload_table *table_of(const char *name, size_t *index)
{
	for (const struct preload_table *const *t = preload_tables; *t != NULL; t++)
		for (size_t i = 0; begins(name, (*t)->prefix) && i < (*t)->n; i++)
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
	/* Who stands in between asks RTLD_NEXT: what is behind him. If he is behind us, ours would lead back to him. */
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

/* Adds the file of an object to a list, one behind the other; the program has none. */
static int note_file(struct dl_phdr_info *info, size_t size, void *list)
{
	(void)size;
	if (info->dlpi_name != NULL && *info->dlpi_name != 0)
		fwrite(info->dlpi_name, 1, strlen(info->dlpi_name) + 1, list);
	return 0;
}

/* A function of a name in any object. Who calls us may not be who is linked to it: a library that hands out
 * pointers to it, or whose last act is to call it, leaves no address behind. */
static void *find_anywhere(const char *name)
{
	char *files = NULL; /* an empty one at the end, as a NUL stands behind what is written */
	size_t size = 0;
	void *found = NULL;
	FILE *list = open_memstream(&files, &size);
	if (list == NULL)
		return NULL;
	dl_iterate_phdr(note_file, list);
	fclose(list);
	for (const char *file = files; file != NULL && *file != 0 && found == NULL; file += strlen(file) + 1) {
		void *object = dlopen(file, RTLD_LAZY | RTLD_LOCAL | RTLD_NOLOAD);
		if (object == NULL)
			continue;
		found = preload_find(object, name);
		dlclose(object);
	}
	free(files);
	return found;
}

/* Whether the object that a function is of gives its names versions. */
static bool has_versions(const void *function)
{
	Dl_info info;
	struct link_map *map;
	if (dladdr1(function, &info, (void **)&map, RTLD_DL_LINKMAP) == 0 || map == NULL || map->l_ld == NULL)
		return false;
	for (const ElfW(Dyn) *d = map->l_ld; d->d_tag != DT_NULL; d++)
		if (d->d_tag == DT_VERDEF)
			return true;
	return false;
}

void *preload_behind(const void *caller, const char *name)
{
	/* An object's own handle leads to it and what it is linked to; that of the program to us first. */
	void *object = object_of(caller, false), *found = object == NULL ? NULL : preload_find(object, name);
	if (object != NULL)
		dlclose(object);
	void *global = preload_find(RTLD_NEXT, name);
	/* What is in the scope of all goes before what an object is linked to, as one who stands
	 * between does who was preloaded; but not if it has other versions of its names. */
	if (global != NULL && (found == NULL || !has_versions(global) || !has_versions(found)))
		return global;
	return found != NULL ? found : find_anywhere(name);
}

void preload_beside(const void *function, const char *const *names, size_t n, void **found)
{
	void *object = object_of(function, true);
	for (size_t i = 0; i < n; i++)
		found[i] = object == NULL || names[i] == NULL ? NULL : preload_find(object, names[i]);
	if (object != NULL)
		dlclose(object);
}
