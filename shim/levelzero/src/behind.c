/*
 * behind.c: the functions behind us.
 */
#include "shim.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>

static struct behind found;
static void *(*_Atomic finder)(const char *name);

void levelzero_behind(void *(*find)(const char *name))
{
	void *(*none)(const char *) = NULL;
	atomic_compare_exchange_strong(&finder, &none, find);
}

/* In what follows us, or, where that has none because a library with a scope of its own
 * calls (a module of an interpreter, a plug-in), in the loader that is open. */
static void *find_here(const char *name)
{
	static void *where;
	if (where == NULL) {
		if (dlsym(RTLD_NEXT, "zeModuleCreate") != NULL)
			where = RTLD_NEXT;
		else
			where = dlopen("libze_loader.so.1", RTLD_NOW | RTLD_LOCAL | RTLD_NOLOAD);
	}
	return where == NULL ? NULL : dlsym(where, name);
}

static void find_all(void)
{
	void *(*find)(const char *) = atomic_load(&finder);
	if (find == NULL)
		find = find_here;
#define FIND(name) *(void **)&found.name = find(#name)
	FIND(zeInit);
	FIND(zeInitDrivers);
	FIND(zeModuleCreate);
	FIND(zeModuleDestroy);
	FIND(zeModuleBuildLogGetString);
	FIND(zeModuleBuildLogDestroy);
	FIND(zeModuleGetNativeBinary);
	FIND(zeModuleGetKernelNames);
#undef FIND
	ksz_queries *q = &found.queries;
	q->driver_get = find("zeDriverGet");
	q->device_get = find("zeDeviceGet");
	q->device_get_sub_devices = find("zeDeviceGetSubDevices");
	q->driver_get_properties = find("zeDriverGetProperties");
	q->driver_get_api_version = find("zeDriverGetApiVersion");
	q->driver_get_extension_properties = find("zeDriverGetExtensionProperties");
	q->device_get_properties = find("zeDeviceGetProperties");
	q->device_get_module_properties = find("zeDeviceGetModuleProperties");
	q->device_get_compute_properties = find("zeDeviceGetComputeProperties");
	q->device_pci_get_properties = find("zeDevicePciGetPropertiesExt");
}

const struct behind *lz_behind(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	pthread_once(&once, find_all);
	return &found;
}

bool lz_whole(void)
{
	const struct behind *b = lz_behind();
	const ksz_queries *q = &b->queries;
	return b->zeModuleCreate != NULL && b->zeModuleDestroy != NULL && b->zeModuleBuildLogGetString != NULL &&
		b->zeModuleBuildLogDestroy != NULL && b->zeModuleGetNativeBinary != NULL && b->zeModuleGetKernelNames != NULL &&
		q->driver_get != NULL && q->device_get != NULL && q->device_get_sub_devices != NULL &&
		q->driver_get_properties != NULL && q->driver_get_api_version != NULL &&
		q->driver_get_extension_properties != NULL && q->device_get_properties != NULL;
}
