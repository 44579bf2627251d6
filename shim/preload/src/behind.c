/* behind.c: which function a caller would have had. */
#include "../../library/library.h"
#include "../preload.h"

#include <dlfcn.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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
