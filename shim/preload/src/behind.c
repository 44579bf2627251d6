/*
 * behind.c: which function a caller would have had.
 */
#include "choose.h"

#include <dlfcn.h>
#include <link.h>
#include <stdlib.h>
#include <string.h>

/* A handle of the object that an address is in, which is loaded already; NULL where there
 * is none. It is to be closed. */
static void *object_of(const void *address, bool *program)
{
	Dl_info info;
	struct link_map *map;
	*program = false;
	if (dladdr1(address, &info, (void **)&map, RTLD_DL_LINKMAP) == 0 || map == NULL || map->l_name == NULL)
		return NULL;
	*program = map->l_name[0] == 0;
	return dlopen(*program ? NULL : map->l_name, RTLD_LAZY | RTLD_LOCAL | RTLD_NOLOAD);
}

/* The files of all objects, one behind the other, with an empty one at the end. */
struct files {
	char *text;
	size_t size, room;
};

static int note_file(struct dl_phdr_info *info, size_t size, void *data)
{
	struct files *f = data;
	size_t n = info->dlpi_name == NULL ? 1 : strlen(info->dlpi_name) + 1;
	(void)size;
	if (n == 1)
		return 0; /* the program */
	if (f->room - f->size < n + 1) {
		size_t room = 2 * f->room + n + 1;
		char *text = realloc(f->text, room);
		if (text == NULL)
			return 1;
		f->text = text;
		f->room = room;
	}
	memcpy(f->text + f->size, info->dlpi_name, n);
	f->size += n;
	return 0;
}

/* A function of a name in any object. Who calls us may not be who is linked to it: a
 * library that hands out pointers to it, or whose last act is to call it, leaves no
 * address behind. */
static void *find_anywhere(const char *name)
{
	struct files f = {NULL, 0, 0};
	void *found = NULL;
	dl_iterate_phdr(note_file, &f);
	if (f.text != NULL)
		f.text[f.size] = 0;
	for (const char *file = f.text; file != NULL && *file != 0 && found == NULL; file += strlen(file) + 1) {
		void *object = dlopen(file, RTLD_LAZY | RTLD_LOCAL | RTLD_NOLOAD);
		if (object == NULL)
			continue;
		found = preload_find(object, name);
		dlclose(object);
	}
	free(f.text);
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
	/* An object's own handle leads to it and what it is linked to; that of the program
	 * to us first. */
	bool program;
	void *object = object_of(caller, &program), *found = NULL, *global;
	if (object != NULL && !program)
		found = preload_find(object, name);
	if (object != NULL)
		dlclose(object);
	global = preload_find(RTLD_NEXT, name);
	/* What is in the scope of all goes before what an object is linked to, as one who stands
	 * between does who was preloaded; but not if it has other versions of its names. */
	if (global != NULL && (found == NULL || !has_versions(global) || !has_versions(found)))
		return global;
	return found != NULL ? found : find_anywhere(name);
}

void preload_beside(const void *function, const char *const *names, size_t n, void **found)
{
	bool program;
	void *object = object_of(function, &program);
	for (size_t i = 0; i < n; i++)
		found[i] = object == NULL ? NULL : preload_find(object, names[i]);
	if (object != NULL)
		dlclose(object);
}
