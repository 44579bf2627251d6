/*
 * behind.c: which function a caller would have had.
 */
#include "choose.h"

#include <dlfcn.h>
#include <link.h>

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

void *preload_behind(const void *caller, const char *name)
{
	/* An object's own handle leads to it and what it is linked to; that of the program
	 * to us first. */
	bool program;
	void *object = object_of(caller, &program), *found = NULL;
	if (object != NULL && !program)
		found = preload_find(object, name);
	if (object != NULL)
		dlclose(object);
	return found != NULL ? found : preload_find(RTLD_NEXT, name);
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
